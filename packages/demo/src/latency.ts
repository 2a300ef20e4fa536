/**
 * The percentile by nearest rank; 0 when there are no values.
 * @param values in any order; not changed
 */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) return 0;
  const sorted = Float64Array.from(values).sort();
  const rank = Math.max(1, Math.ceil((percent / 100) * sorted.length));
  return sorted[Math.min(rank, sorted.length) - 1] as number;
}
