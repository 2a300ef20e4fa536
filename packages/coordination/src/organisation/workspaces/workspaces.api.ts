import { idParams } from '@baton/values/keys';
import { pageOf, QueryFlag, QueryWord, queryInteger, Uuid } from '@baton/values/wire';
import { refuseNulls } from '../../service/changes.ts';
import { endpoint } from '../context.ts';
import { WorkspaceTree } from './tree-node.ts';
import {
  MoveAnswer,
  Workspace,
  WorkspaceChange,
  WorkspaceDetail,
  WorkspaceMove,
  WorkspaceRequest,
} from './workspace.ts';
import { archiveWorkspace, restoreWorkspace, updateWorkspace } from './workspace-changes.ts';
import { moveWorkspace, previewMove } from './workspace-moves.ts';
import { getWorkspaceTree } from './workspace-tree.ts';
import {
  workspaceArchived,
  workspaceCreated,
  workspaceMoved,
  workspaceRestored,
  workspaceUpdated,
} from './workspaces.events.ts';
import { createWorkspace, getWorkspace, listWorkspaces } from './workspaces.ts';

const documentErrors = [
  'invalid_document',
  'payload_too_large',
  'payload_too_deep',
  'custom_fields_invalid',
  'secret_material_rejected',
] as const;

export const workspacesApi = [
  endpoint({
    id: 'createWorkspace',
    method: 'POST',
    path: '/workspaces',
    summary: 'Create a workspace, as a root or below another workspace.',
    permission: 'workspaces.manage',
    body: WorkspaceRequest,
    returns: { 201: WorkspaceDetail },
    etag: 'workspace',
    errors: [
      'not_found',
      'workspace_archived',
      'workspace_too_deep',
      'workspace_slug_conflict',
      'invalid_workspace_type',
      'workspace_type_archived',
      'child_type_not_allowed',
      ...documentErrors,
    ],
    emits: [workspaceCreated],
    example: { slug: 'platform', name: 'Platform' },
    handle: ({ body }, context) => createWorkspace(context, body),
  }),
  endpoint({
    id: 'listWorkspaces',
    method: 'GET',
    path: '/workspaces',
    summary: 'List workspaces, newest first.',
    permission: 'workspaces.read',
    query: {
      parentId: Uuid.optional().describe('Only direct children of this workspace; overrides rootsOnly.'),
      rootsOnly: QueryFlag.optional(),
      status: QueryWord.optional(),
    },
    paging: true,
    returns: { 200: pageOf(Workspace) },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query, page }, context) => listWorkspaces(context, query, page),
  }),
  endpoint({
    id: 'getWorkspaceTree',
    method: 'GET',
    path: '/workspaces/tree',
    summary: 'Read the tree of workspaces, or a subtree.',
    description:
      'Siblings are sorted by slug. The tree has at most 1,000 nodes: the deepest levels beyond that are omitted, ' +
      'and `truncated` is true.',
    permission: 'workspaces.read',
    query: {
      rootId: Uuid.optional(),
      depth: queryInteger(0, 64)
        .optional()
        .describe('Number of levels below the roots; 0 returns only the roots.'),
      includeArchived: QueryFlag.optional(),
      includeProjects: QueryFlag.optional().describe('`false` omits `project` from the nodes.'),
      limit: queryInteger(-1_000_000, 1_000_000)
        .optional()
        .describe('Maximum number of roots, 1 to 200; all when absent.'),
      cursor: QueryWord.optional().describe('The `nextCursor` of the previous page.'),
    },
    returns: { 200: WorkspaceTree },
    errors: ['not_found', 'invalid_limit', 'invalid_cursor'],
    handle: ({ query }, context) => getWorkspaceTree(context, query),
  }),
  endpoint({
    id: 'getWorkspace',
    method: 'GET',
    path: '/workspaces/{id}',
    summary: 'Read a workspace.',
    permission: 'workspaces.read',
    params: idParams,
    returns: { 200: WorkspaceDetail },
    etag: 'workspace',
    errors: ['not_found'],
    handle: ({ params }, context) => getWorkspace(context, params.id),
  }),
  endpoint({
    id: 'updateWorkspace',
    method: 'PATCH',
    path: '/workspaces/{id}',
    summary: 'Change a workspace, even an archived one.',
    description:
      'Values equal to the stored ones change nothing. taskTypes `null` inherits those of the parent.',
    permission: 'workspaces.manage',
    ifMatch: 'workspace',
    etag: 'workspace',
    params: idParams,
    body: WorkspaceChange,
    returns: { 200: WorkspaceDetail },
    errors: [
      'invalid_field',
      'not_found',
      'version_conflict',
      'workspace_slug_conflict',
      'invalid_workspace_type',
      'workspace_type_archived',
      'child_type_not_allowed',
      ...documentErrors,
      'unknown_task_type',
      'empty_update',
    ],
    emits: [workspaceUpdated],
    example: { name: 'Platform team', taskTypes: ['task'] },
    precheck: ({ body }) => refuseNulls(body, ['taskTypes', 'calendarKey']),
    handle: ({ params, ifMatch, body }, context) => updateWorkspace(context, params.id, ifMatch, body),
  }),
  endpoint({
    id: 'archiveWorkspace',
    method: 'POST',
    path: '/workspaces/{id}:archive',
    summary: 'Archive a workspace that has no active children and no active project.',
    description: 'The workspace keeps its slug and its tasks. Archiving it again changes nothing.',
    permission: 'workspaces.manage',
    params: idParams,
    returns: { 200: WorkspaceDetail },
    etag: 'workspace',
    errors: ['not_found', 'workspace_has_active_children', 'workspace_has_active_project'],
    emits: [workspaceArchived],
    handle: ({ params }, context) => archiveWorkspace(context, params.id),
  }),
  endpoint({
    id: 'restoreWorkspace',
    method: 'POST',
    path: '/workspaces/{id}:restore',
    summary: 'Restore an archived workspace.',
    description: 'Restoring an active workspace changes nothing.',
    permission: 'workspaces.manage',
    params: idParams,
    returns: { 200: WorkspaceDetail },
    etag: 'workspace',
    errors: ['not_found', 'workspace_archived', 'workspace_type_archived'],
    emits: [workspaceRestored],
    handle: ({ params }, context) => restoreWorkspace(context, params.id),
  }),
  endpoint({
    id: 'moveWorkspace',
    method: 'POST',
    path: '/workspaces/{id}:move',
    summary: 'Move a workspace and its descendants below another workspace, or to the roots.',
    description: 'With dryRun nothing is written: the response lists the reasons to refuse the move.',
    permission: 'workspaces.manage',
    ifMatch: 'workspace',
    ifMatchOptional: true,
    params: idParams,
    query: { dryRun: QueryFlag.optional() },
    body: WorkspaceMove,
    returns: { 200: MoveAnswer },
    errors: [
      'not_found',
      'version_conflict',
      'workspace_cycle',
      'workspace_archived',
      'workspace_too_deep',
      'workspace_slug_conflict',
      'child_type_not_allowed',
      'governance_weakened',
      'setting_locked',
    ],
    emits: [workspaceMoved],
    example: { newParentId: null },
    handle: ({ params, query, ifMatch, body }, context) => {
      const request = { ...body, ifMatch: ifMatch < 0 ? undefined : ifMatch };
      return (query.dryRun === true ? previewMove : moveWorkspace)(context, params.id, request);
    },
  }),
];
