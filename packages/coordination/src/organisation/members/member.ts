import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';

/** A member of a workspace. See docs/reference/workspaces.md#members. */
export const WorkspaceMember = z
  .strictObject({ id: Uuid, workspaceId: Uuid, principalId: Uuid, createdAt: Timestamp })
  .meta({ id: 'WorkspaceMember' });
export type WorkspaceMember = z.infer<typeof WorkspaceMember>;

export type WorkspaceMemberRow = RowOf<Tables['workspace_members']>;

export const workspaceMemberOf = wireMapper<WorkspaceMemberRow>()(WorkspaceMember, {});
