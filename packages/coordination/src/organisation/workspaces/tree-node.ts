import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { archivableStatuses } from '../workspace-types/workspace-type.ts';
import type { WorkspaceRow } from './workspace.ts';

/** The project of the workspace itself. */
const TreeProject = z
  .strictObject({
    id: Uuid,
    statusKey: z.string(),
    systemStatusCategory: z.string(),
    status: z.enum(archivableStatuses),
    templateKey: z.string(),
    templateVersion: z.int(),
  })
  .meta({ id: 'WorkspaceTreeProject' });

/** A workspace with its descendants. See docs/reference/workspaces.md#tree. */
export const WorkspaceTreeNode = z
  .strictObject({
    id: Uuid,
    parentId: Uuid.nullable(),
    depth: z.int().meta({ description: '0 for a root of the response.' }),
    slug: z.string(),
    name: z.string(),
    status: z.enum(archivableStatuses),
    version: z.int().positive(),
    typeId: Uuid,
    typeKey: z.string(),
    project: TreeProject.nullable().optional(),
    get children() {
      return z.array(WorkspaceTreeNode);
    },
  })
  .meta({ id: 'WorkspaceTreeNode' });
export type WorkspaceTreeNode = z.infer<typeof WorkspaceTreeNode>;

export const WorkspaceTree = z
  .strictObject({
    roots: z.array(WorkspaceTreeNode),
    truncated: z
      .boolean()
      .meta({ description: '`true` when levels were omitted to limit the tree to 1,000 nodes.' }),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'WorkspaceTree' });
export type WorkspaceTree = z.infer<typeof WorkspaceTree>;

/** A node of the tree; `root_number` counts the roots from 1. */
export type TreeRow = Pick<
  WorkspaceRow,
  'id' | 'parent_id' | 'slug' | 'name' | 'status' | 'version' | 'type_id'
> & {
  type_key: string;
  depth: number;
  root_number: number;
  project: z.infer<typeof TreeProject> | null;
};
