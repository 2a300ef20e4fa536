import { FreeObject, type JsonObject, Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { statusCategories, type StatusCategory } from '../task-types/lifecycle.ts';
import { AcceptanceCheck } from '../acceptance/acceptance.ts';
import { Evidence } from '../acceptance/evidence.ts';
import { Origin } from './origin.ts';

/** The order in which work is handed out; a row holds the index. */
export const priorities = ['critical', 'high', 'medium', 'low'] as const;
export type Priority = (typeof priorities)[number];

/** A task (core, section 8.1). */
export const Task = z.strictObject({
  id: Uuid,
  tenantId: Uuid,
  publicId: z.string(),
  workspaceId: Uuid.nullable(),
  projectId: Uuid.nullable(),
  typeId: Uuid,
  typeKey: z.string(),
  typeVersion: z.int(),
  title: z.string(),
  description: z.string(),
  status: z.string(),
  systemStatusCategory: z.enum(statusCategories),
  priority: z.enum(priorities),
  ownerId: Uuid.nullable(),
  assigneeId: Uuid.nullable(),
  customFields: FreeObject,
  startDate: Timestamp.nullable(),
  dueDate: Timestamp.nullable(),
  goalId: Uuid.nullable(),
  origin: Origin,
  acceptance: z.array(AcceptanceCheck),
  acceptanceChecks: z.int(),
  evidence: z.array(Evidence),
  version: z.int(),
  claimEpoch: z.int(),
  activeClaimId: Uuid.nullable(),
  createdBy: Uuid,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  completedAt: Timestamp.nullable(),
  verification: z.null(),
});
export type Task = z.infer<typeof Task>;

/** A row of `tasks` with the key and version of its type. */
export interface TaskRow {
  id: string;
  tenant_id: string;
  public_number: number;
  public_id: string;
  workspace_id: string | null;
  type_id: string;
  type_key: string;
  type_version: number;
  title: string;
  description: string;
  status: string;
  category: StatusCategory;
  priority: number;
  owner_id: string | null;
  assignee_id: string | null;
  custom_fields: JsonObject;
  start_date: string | null;
  due_date: string | null;
  goal_id: string | null;
  origin: Origin;
  acceptance: AcceptanceCheck[];
  evidence: Evidence[];
  version: number;
  claim_epoch: number;
  active_claim_id: string | null;
  lease_expires_at: string | null;
  open_prerequisites: number;
  created_by: string;
  created_at: string;
  updated_at: string;
  completed_at: string | null;
}

/** A row as clients see it. */
export function taskOf(row: TaskRow): Task {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    publicId: row.public_id,
    workspaceId: row.workspace_id,
    // Derived from the workspace tree, which no task can be in yet.
    projectId: null,
    typeId: row.type_id,
    typeKey: row.type_key,
    typeVersion: row.type_version,
    title: row.title,
    description: row.description,
    status: row.status,
    systemStatusCategory: row.category,
    priority: priorities[row.priority] as Priority,
    ownerId: row.owner_id,
    assigneeId: row.assignee_id,
    customFields: row.custom_fields,
    startDate: row.start_date,
    dueDate: row.due_date,
    goalId: row.goal_id,
    origin: row.origin,
    acceptance: row.acceptance,
    acceptanceChecks: row.acceptance.length,
    evidence: row.evidence,
    version: row.version,
    claimEpoch: row.claim_epoch,
    activeClaimId: row.active_claim_id,
    createdBy: row.created_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    completedAt: row.completed_at,
    verification: null,
  };
}
