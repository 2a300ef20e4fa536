import type { RowOf } from '@baton/kernel/database/row';
import type { JsonObject } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';

export const requesterKinds = ['principal', 'run', 'rule', 'approval', 'verification', 'process'] as const;
export const invocationStatuses = ['pending', 'running', 'succeeded', 'failed', 'cancelled'] as const;

/** What ended a call that did not succeed, or its last attempt. */
export interface InvocationError {
  readonly code: string;
  readonly message: string;
  readonly details?: JsonObject;
}

/** What allows a call with effects outside (organisation, section 10.5). */
export type AuthorizationBasis =
  | { readonly kind: 'approval'; readonly approvalId: string }
  | { readonly kind: 'execution'; readonly runId: string }
  | { readonly kind: 'process_step'; readonly instanceId: string; readonly element: string };

/** A call of a skill (organisation, section 10.4). */
export type InvocationRow = RowOf<
  Tables['skill_invocations'],
  {
    requested_by_kind: (typeof requesterKinds)[number];
    status: (typeof invocationStatuses)[number];
    /** A snapshot, which nothing but the judgement of the basis reads. */
    credential: JsonObject;
    authorization_basis: AuthorizationBasis | null;
    inputs: JsonObject;
    output: JsonObject | null;
    error: InvocationError | null;
    cost: { unit: string; amount: number } | null;
  }
>;
