/** Ends a benchmark; its message, one sentence, is printed without a stack trace. */
export class BenchError extends Error {}
