"use strict";
// The address that `serve` prints carries a one-time code behind the #, which browsers never send by themselves.
(() => {
  const code = window.location.hash.slice(1);
  if (!code) return;
  window.history.replaceState(null, "", window.location.pathname);
  document.getElementById("token").value = code;
  document.getElementById("login").requestSubmit();
})();
