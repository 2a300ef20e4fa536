import { z } from 'zod';
import { timestampText } from '@baton/kernel/database/db';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { Principal } from '../../access/principals/principal.ts';
import type { ClaimRow, RunRow, SessionRow } from '../../leases/lease-rows.ts';
import type { Tables } from '../../service/schema.ts';
import { Claim } from '../claims/claim.ts';
import { Run } from '../runs/run.ts';
import { Session } from '../sessions/session.ts';

const SessionSummary = Session.pick({
  id: true,
  status: true,
  clientName: true,
  clientVersion: true,
  harnessType: true,
  harnessVersion: true,
  controlLevel: true,
  protocolVersion: true,
  harnessCapabilities: true,
  startedAt: true,
  expiresAt: true,
}).meta({ id: 'SessionSummary' });

const HeldClaim = Claim.pick({ id: true, taskId: true, sessionId: true, fencingToken: true, expiresAt: true })
  .extend({ taskPublicId: z.string(), taskTitle: z.string(), taskStatus: z.string() })
  .meta({ id: 'HeldClaim' });

const OwnRun = Run.pick({
  id: true,
  taskId: true,
  claimId: true,
  sessionId: true,
  attempt: true,
  fencingToken: true,
  startedAt: true,
  finishedAt: true,
  cancelRequestedAt: true,
})
  .extend({ status: z.enum(['running', 'suspended']) })
  .meta({ id: 'OwnRun' });

/** An approval that the caller can decide now. */
const PendingApproval = z
  .strictObject({
    id: Uuid,
    taskId: Uuid.nullable(),
    artifactId: Uuid.nullable(),
    requestedBy: Uuid,
    gate: z.boolean(),
    comment: z.string(),
    createdAt: Timestamp,
  })
  .meta({ id: 'PendingApproval' });

/** The state that a harness needs to continue after a restart (docs/reference/sessions.md#harness-context). */
export const HarnessContext = z
  .strictObject({
    protocol: z.strictObject({ name: z.string(), supportedVersions: z.array(z.string()) }),
    tenant: z.strictObject({ id: Uuid, slug: z.string(), name: z.string() }),
    principal: Principal.pick({ id: true, kind: true, displayName: true, status: true }),
    session: SessionSummary.nullable(),
    activeSessions: z.array(SessionSummary),
    activeClaims: z.array(HeldClaim),
    activeRuns: z.array(OwnRun),
    suspendedRuns: z.array(OwnRun),
    roles: z.array(
      z.strictObject({ id: Uuid, slug: z.string(), name: z.string(), workspaceId: Uuid.nullable() }),
    ),
    capabilities: z.array(z.strictObject({ id: Uuid, name: z.string(), description: z.string() })),
    skills: z.array(
      z.strictObject({
        id: Uuid,
        name: z.string(),
        version: z.string(),
        protocol: z.string(),
        status: z.string(),
        executable: z.boolean(),
      }),
    ),
    pendingApprovals: z.array(PendingApproval),
    eventCursor: z.string(),
    permissions: z.array(z.string()),
  })
  .meta({ id: 'HarnessContext' });
export type HarnessContext = z.infer<typeof HarnessContext>;

type TenantRow = RowOf<Tables['tenants']>;
type PrincipalRow = RowOf<Tables['principals']>;

type SessionSummaryRow = Pick<
  SessionRow,
  | 'id'
  | 'status'
  | 'client_name'
  | 'client_version'
  | 'harness_type'
  | 'harness_version'
  | 'control_level'
  | 'protocol_version'
  | 'harness_capabilities'
  | 'started_at'
  | 'expires_at'
>;

type HeldClaimRow = Pick<ClaimRow, 'id' | 'task_id' | 'session_id' | 'fencing_token' | 'expires_at'> & {
  task_public_id: string;
  task_title: string;
  task_status: string;
};

type OwnRunRow = Pick<
  RunRow,
  | 'id'
  | 'task_id'
  | 'claim_id'
  | 'session_id'
  | 'attempt'
  | 'fencing_token'
  | 'started_at'
  | 'finished_at'
  | 'cancel_requested_at'
> & { status: 'running' | 'suspended' };

/** The inner rows are JSON: their instants have PostgreSQL's JSON format, not that of columns. */
export interface HarnessContextRow {
  horizon: number;
  tenant: Pick<TenantRow, 'id' | 'slug' | 'name'>;
  principal: Pick<PrincipalRow, 'id' | 'kind' | 'display_name' | 'status'>;
  session: SessionSummaryRow | null;
  active_sessions: SessionSummaryRow[];
  active_claims: HeldClaimRow[];
  active_runs: OwnRunRow[];
  suspended_runs: OwnRunRow[];
  pending_approvals: HarnessContext['pendingApprovals'];
  roles: HarnessContext['roles'];
  capabilities: HarnessContext['capabilities'];
  skills: HarnessContext['skills'];
}

export const sessionSummaryOf = wireMapper<SessionSummaryRow>()(SessionSummary, {
  startedAt: (row) => timestampText(row.started_at),
  expiresAt: (row) => timestampText(row.expires_at),
});

export const heldClaimOf = wireMapper<HeldClaimRow>()(HeldClaim, {
  expiresAt: (row) => timestampText(row.expires_at),
});

export const ownRunOf = wireMapper<OwnRunRow>()(OwnRun, {
  startedAt: (row) => timestampText(row.started_at),
  finishedAt: (row) => (row.finished_at === null ? null : timestampText(row.finished_at)),
  cancelRequestedAt: (row) =>
    row.cancel_requested_at === null ? null : timestampText(row.cancel_requested_at),
});
