import { z } from 'zod';
import { namesTag } from '@baton/kernel/http/etag';
import { reply } from '@baton/kernel/http/service';
import { idParams } from '@baton/values/keys';
import { pageOf } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { EffectiveConfig } from './config/effective-config.ts';
import { ConfigRevision, ConfigRevisionRequest } from './config-revision.ts';
import {
  activateConfigRevision,
  createConfigRevision,
  findEffectiveConfig,
  listConfigRevisions,
} from './config-revisions.ts';
import { Project } from './project.ts';
import { projectConfigRevisionActivated, projectConfigRevisionCreated } from './projects.events.ts';

/** The number of a revision in a path. */
const RevisionNumber = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, 'must be a number from 1')
  .transform(Number)
  .meta({ type: 'integer', minimum: 1 });

const fitErrors = ['status_not_in_lifecycle', 'governance_weakened', 'setting_locked'] as const;

export const configRevisionsApi = [
  endpoint({
    id: 'getEffectiveConfig',
    method: 'GET',
    path: '/projects/{id}/effective-config',
    summary: 'Read the effective configuration of a project and the origin of each value.',
    description:
      'Later layers override earlier ones: template, ancestors, active revision, settings of the project. ' +
      'Governance can only narrow, and a locked setting keeps the value of the project that locked it. An ' +
      'If-None-Match that matches the ETag returns 304.',
    permission: 'projects.read',
    params: idParams,
    returns: { 200: EffectiveConfig, 304: null },
    errors: ['not_found'],
    async handle({ params }, context) {
      const { tag, make } = await findEffectiveConfig(context, params.id);
      const headers = { etag: tag };
      return namesTag(context.ifNoneMatch, tag)
        ? reply(304, undefined, headers)
        : reply(200, make(), headers);
    },
  }),
  endpoint({
    id: 'listConfigRevisions',
    method: 'GET',
    path: '/projects/{id}/config-revisions',
    summary: 'List the configurations of a project, newest first.',
    permission: 'projects.read',
    params: idParams,
    paging: true,
    returns: { 200: pageOf(ConfigRevision) },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params, page }, context) => listConfigRevisions(context, params.id, page),
  }),
  endpoint({
    id: 'createConfigRevision',
    method: 'POST',
    path: '/projects/{id}/config-revisions',
    summary: 'Record the next configuration of a project; it takes effect when activated.',
    permission: 'projects.manage',
    params: idParams,
    body: ConfigRevisionRequest,
    returns: { 201: ConfigRevision },
    errors: [
      'not_found',
      'project_archived',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'unknown_config_section',
      'invalid_config',
      'governance_not_in_settings',
      'instructions_too_large',
      'secret_material_rejected',
      'unknown_governance_field',
      'invalid_governance',
      ...fitErrors,
    ],
    emits: [projectConfigRevisionCreated],
    example: { config: { governance: { maxRunActions: 50 } }, comment: 'Smaller steps.' },
    handle: ({ params, body }, context) => createConfigRevision(context, params.id, body),
  }),
  endpoint({
    id: 'activateConfigRevision',
    method: 'POST',
    path: '/projects/{id}/config-revisions/{n}:activate',
    summary: 'Activate a configuration.',
    description: 'An earlier revision may be activated again. Activating the active one changes nothing.',
    permission: 'projects.manage',
    ifMatch: 'project',
    etag: 'project',
    params: { ...idParams, n: RevisionNumber },
    returns: { 200: Project },
    errors: ['not_found', 'version_conflict', 'project_archived', ...fitErrors],
    emits: [projectConfigRevisionActivated],
    handle: ({ params, ifMatch }, context) => activateConfigRevision(context, params.id, params.n, ifMatch),
  }),
];
