import type { Endpoint } from '@baton/kernel/service';
import { apiKeysApi } from './api-keys/api-keys.api.ts';
import { authzApi } from './authz/authz.api.ts';
import { bootstrapApi } from './bootstrap/bootstrap.api.ts';
import { claimsApi } from './claims/claims.api.ts';
import type { Context } from './context.ts';
import { delegationsApi } from './delegations/delegations.api.ts';
import { harnessApi } from './harness/harness.api.ts';
import { healthApi } from './health/health.api.ts';
import { eventsApi } from './journal/events.api.ts';
import { iamBindingsApi } from './iam-bindings/iam-bindings.api.ts';
import { principalsApi } from './principals/principals.api.ts';
import { runsApi } from './runs/runs.api.ts';
import { sessionsApi } from './sessions/sessions.api.ts';
import { taskRelationsApi } from './task-relations/task-relations.api.ts';
import { taskTypesApi } from './task-types/task-types.api.ts';
import { tasksApi } from './tasks/tasks.api.ts';
import { workApi } from './work/work.api.ts';

/** Every operation of coordination. What is not listed here does not exist. */
export const endpoints: readonly Endpoint<Context>[] = [
  ...healthApi,
  ...bootstrapApi,
  ...principalsApi,
  ...apiKeysApi,
  ...iamBindingsApi,
  ...delegationsApi,
  ...authzApi,
  ...sessionsApi,
  ...taskTypesApi,
  ...tasksApi,
  ...taskRelationsApi,
  ...workApi,
  ...claimsApi,
  ...runsApi,
  ...harnessApi,
  ...eventsApi,
];
