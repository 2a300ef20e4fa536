import type { Context } from '../context.ts';
import { type ErrorCode, fail } from '../errors.ts';
import type { MemoryGateway, MemoryResult } from './gateway.ts';

/** @throws Refusal `memory_disabled` if no memory service is set up */
export function requireMemory({ memory }: Context): MemoryGateway {
  return memory ?? fail('memory_disabled');
}

/**
 * Returns the memory service's response; refuses the operation if there is none.
 * @param refusals the code for each status of a refusal; other statuses map to `memory_unavailable`
 * @throws Refusal those codes, `memory_timeout`, `memory_unavailable` with `memoryStatus` and `retryable`
 */
export function requireResponse<T>(
  result: MemoryResult<T>,
  refusals: Readonly<Record<number, ErrorCode>> = {},
): { value: T; status: number } {
  if (result.kind === 'ok') return result;
  if (result.kind === 'timeout') return fail('memory_timeout', {}, { headers: { 'retry-after': '1' } });
  if (result.kind === 'unavailable') {
    const { status, why, retryAfterSeconds = 1 } = result;
    // A retry would return the same unreadable response.
    const retryable = why !== 'unreadable';
    const headers: Record<string, string> = retryable ? { 'retry-after': String(retryAfterSeconds) } : {};
    return fail('memory_unavailable', { memoryStatus: status, retryable }, { headers, reason: why });
  }
  const code = refusals[result.status];
  if (code !== undefined) return fail(code);
  return fail('memory_unavailable', { memoryStatus: result.status, retryable: false });
}
