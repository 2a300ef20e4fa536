import type { Endpoint } from '@baton/kernel/service';
import { apiKeysApi } from '../access/api-keys/api-keys.api.ts';
import { authzApi } from './authz/authz.api.ts';
import { bootstrapApi } from './bootstrap/bootstrap.api.ts';
import { claimsApi } from '../execution/claims/claims.api.ts';
import type { Context } from './context.ts';
import { delegationsApi } from '../access/delegations/delegations.api.ts';
import { harnessApi } from '../execution/harness/harness.api.ts';
import { healthApi } from './health/health.api.ts';
import { eventsApi } from '../ledger/journal/events.api.ts';
import { iamBindingsApi } from '../access/iam-bindings/iam-bindings.api.ts';
import { principalsApi } from '../access/principals/principals.api.ts';
import { runsApi } from '../execution/runs/runs.api.ts';
import { sessionsApi } from '../execution/sessions/sessions.api.ts';
import { taskRelationsApi } from '../work/relations/task-relations.api.ts';
import { taskTypesApi } from '../work/task-types/task-types.api.ts';
import { tasksApi } from '../work/tasks/tasks.api.ts';
import { workApi } from '../work/available/available.api.ts';

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
