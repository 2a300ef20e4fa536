import type { RowOf } from '@baton/kernel/database/row';
import type { JsonObject } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';

export const requesterKinds = ['principal', 'run', 'rule', 'approval', 'verification', 'process'] as const;
export const invocationStatuses = ['pending', 'running', 'succeeded', 'failed', 'cancelled'] as const;

/** The error of an invocation that did not succeed, or of its last attempt. */
export interface InvocationError {
  readonly code: string;
  readonly message: string;
  readonly details?: JsonObject;
}

/** The authorization of an invocation with external effects. See docs/reference/skills.md#invoke. */
export type AuthorizationBasis =
  | { readonly kind: 'approval'; readonly approvalId: string }
  | { readonly kind: 'execution'; readonly runId: string }
  | { readonly kind: 'process_step'; readonly instanceId: string; readonly element: string };

/** An invocation of a skill. See docs/reference/skills.md#invocations. */
export type InvocationRow = RowOf<
  Tables['skill_invocations'],
  {
    requested_by_kind: (typeof requesterKinds)[number];
    status: (typeof invocationStatuses)[number];
    /** A snapshot, read only when the basis is checked. */
    credential: JsonObject;
    authorization_basis: AuthorizationBasis | null;
    inputs: JsonObject;
    output: JsonObject | null;
    error: InvocationError | null;
    cost: { unit: string; amount: number } | null;
  }
>;
