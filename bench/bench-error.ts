/** Ends a measurement with one sentence. */
export class BenchError extends Error {}
