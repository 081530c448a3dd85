"""What the native queue hands over: tuples of one of these kinds, an id and a value. The same numbers are in queue.rs."""

COMPLETED = 0
FAILED = 1
PROGRESS = 2
EVENT = 3
MISSED = 4
QUESTION = 5
QUESTION_ENDED = 6
