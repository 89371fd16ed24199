"""The data and its views: model, capture, store, intake, leasing, responses, progress, export and web."""
