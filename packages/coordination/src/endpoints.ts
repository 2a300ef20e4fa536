import type { Endpoint } from '@baton/kernel/service';
import { bootstrapApi } from './bootstrap/bootstrap.api.ts';
import { claimsApi } from './claims/claims.api.ts';
import type { Context } from './context.ts';
import { healthApi } from './health/health.api.ts';
import { sessionsApi } from './sessions/sessions.api.ts';
import { tasksApi } from './tasks/tasks.api.ts';

/** Every operation of coordination. What is not listed here does not exist. */
export const endpoints: readonly Endpoint<Context>[] = [
  ...healthApi,
  ...bootstrapApi,
  ...sessionsApi,
  ...tasksApi,
  ...claimsApi,
];
