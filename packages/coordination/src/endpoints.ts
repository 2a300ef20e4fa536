import type { Endpoint } from '@baton/kernel/service';
import { claimsApi } from './claims/claims.api.ts';
import type { Context } from './context.ts';

/** Every operation of coordination. What is not listed here does not exist. */
export const endpoints: readonly Endpoint<Context>[] = [...claimsApi];
