"""Identifiers, each a type of its own, so that a job is never passed for a response."""

from typing import NewType

DatasetId = NewType("DatasetId", int)
SampleKey = NewType("SampleKey", int)  # the number of a sample row; `sample_id` is the user's name for it
JobId = NewType("JobId", int)
ResponseId = NewType("ResponseId", int)
WorkerId = NewType("WorkerId", int)
EndpointId = NewType("EndpointId", int)
Seq = NewType("Seq", int)  # counts the writing transactions of a store
