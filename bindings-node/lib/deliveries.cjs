'use strict'
// What a delivery of the native queue is; the same numbers are in deliveries.rs.

module.exports = {
  CALLED: 0,
  CALL_TOLD: 1,
  DONE: 2,
  FAILED: 3,
  LOADED: 4,
  PROGRESS: 5,
  EVENT: 6,
  MISSED: 7,
  QUESTION: 8,
  QUESTION_ENDED: 9,
  /** Values in the array for one delivery. */
  STRIDE: 4,
  /** Deliveries in a full batch. */
  BATCH: 256
}
