import { leaseBounds } from '../../leases/lease-bounds.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';

/**
 * The requested lease in seconds; undefined if it is out of bounds, which is the last refusal in the documented order.
 */
export function claimTtl({ settings }: Context, asked: number | null | undefined): number | undefined {
  const { min, usual, max } = leaseBounds(settings, 'CP_CLAIM');
  const ttlSeconds = asked ?? usual;
  return ttlSeconds >= min && ttlSeconds <= max ? ttlSeconds : undefined;
}

/** @throws Refusal `invalid_ttl` */
export function refuseTtl({ settings }: Context): never {
  const { min, max } = leaseBounds(settings, 'CP_CLAIM');
  fail('invalid_ttl', { min, max });
}
