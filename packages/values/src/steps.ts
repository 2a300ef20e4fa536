/** Runs all steps without yielding. */
export function finished<T>(steps: Iterator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
