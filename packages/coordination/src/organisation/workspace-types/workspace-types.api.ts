import { idParams } from '@baton/values/keys';
import { pageOf, QueryWord } from '@baton/values/wire';
import { refuseNulls } from '../../service/changes.ts';
import { endpoint } from '../context.ts';
import { PackageFilter } from '../package-link.ts';
import { WorkspaceType, WorkspaceTypeChange, WorkspaceTypeRequest } from './workspace-type.ts';
import {
  workspaceTypeArchived,
  workspaceTypeCreated,
  workspaceTypeRestored,
  workspaceTypeUpdated,
} from './workspace-types.events.ts';
import {
  archiveWorkspaceType,
  createWorkspaceType,
  getWorkspaceType,
  listWorkspaceTypes,
  restoreWorkspaceType,
  updateWorkspaceType,
} from './workspace-types.ts';

const documentErrors = [
  'invalid_document',
  'payload_too_large',
  'payload_too_deep',
  'invalid_json_schema',
  'secret_material_rejected',
  'invalid_workspace_type',
] as const;

export const workspaceTypesApi = [
  endpoint({
    id: 'createWorkspaceType',
    method: 'POST',
    path: '/workspace-types',
    summary: 'Create a workspace type.',
    permission: 'workspaces.manage',
    body: WorkspaceTypeRequest,
    returns: { 201: WorkspaceType },
    etag: 'workspace_type',
    errors: [...documentErrors, 'workspace_type_exists'],
    emits: [workspaceTypeCreated],
    example: { key: 'department', displayName: 'Department', allowedChildTypes: ['team'] },
    handle: ({ body }, context) => createWorkspaceType(context, body),
  }),
  endpoint({
    id: 'listWorkspaceTypes',
    method: 'GET',
    path: '/workspace-types',
    summary: 'List workspace types, newest first.',
    permission: 'workspaces.read',
    query: { status: QueryWord.optional(), package: PackageFilter },
    paging: true,
    returns: { 200: pageOf(WorkspaceType) },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query, page }, context) => listWorkspaceTypes(context, query, page),
  }),
  endpoint({
    id: 'getWorkspaceType',
    method: 'GET',
    path: '/workspace-types/{id}',
    summary: 'Read a workspace type.',
    permission: 'workspaces.read',
    params: idParams,
    returns: { 200: WorkspaceType },
    etag: 'workspace_type',
    errors: ['not_found'],
    handle: ({ params }, context) => getWorkspaceType(context, params.id),
  }),
  endpoint({
    id: 'updateWorkspaceType',
    method: 'PATCH',
    path: '/workspace-types/{id}',
    summary: 'Change a workspace type.',
    description:
      'Existing workspaces are not validated again. Values equal to the stored ones change nothing.',
    permission: 'workspaces.manage',
    ifMatch: 'workspace_type',
    etag: 'workspace_type',
    params: idParams,
    body: WorkspaceTypeChange,
    returns: { 200: WorkspaceType },
    errors: [
      'invalid_field',
      'not_found',
      'version_conflict',
      ...documentErrors,
      'system_type_immutable',
      'empty_update',
    ],
    emits: [workspaceTypeUpdated],
    example: { displayName: 'Division' },
    precheck: ({ body }) => refuseNulls(body),
    handle: ({ params, ifMatch, body }, context) => updateWorkspaceType(context, params.id, ifMatch, body),
  }),
  endpoint({
    id: 'archiveWorkspaceType',
    method: 'POST',
    path: '/workspace-types/{id}:archive',
    summary: 'Archive a workspace type that no active workspace uses.',
    description: 'The type keeps its key. Archiving it again changes nothing.',
    permission: 'workspaces.manage',
    params: idParams,
    returns: { 200: WorkspaceType },
    etag: 'workspace_type',
    errors: ['not_found', 'system_type_immutable', 'workspace_type_in_use'],
    emits: [workspaceTypeArchived],
    handle: ({ params }, context) => archiveWorkspaceType(context, params.id),
  }),
  endpoint({
    id: 'restoreWorkspaceType',
    method: 'POST',
    path: '/workspace-types/{id}:restore',
    summary: 'Restore an archived workspace type.',
    description: 'Restoring an active type changes nothing.',
    permission: 'workspaces.manage',
    params: idParams,
    returns: { 200: WorkspaceType },
    etag: 'workspace_type',
    errors: ['not_found'],
    emits: [workspaceTypeRestored],
    handle: ({ params }, context) => restoreWorkspaceType(context, params.id),
  }),
];
