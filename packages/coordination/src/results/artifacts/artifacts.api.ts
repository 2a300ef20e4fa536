import { z } from 'zod';
import type { Surroundings } from '@baton/kernel/http/service';
import { Bytes } from '@baton/kernel/listener/byte-stream';
import { pageOf, QueryWord, Uuid } from '@baton/values/wire';
import { TaskRef } from '../../work/tasks/task-ref.ts';
import { type Context, endpoint } from '../context.ts';
import { Artifact, NewArtifact } from './artifact.ts';
import { artifactContentPurged, artifactContentRead } from './artifact-contents.events.ts';
import { artifactCreated } from './artifacts.events.ts';
import { createArtifact, listArtifacts } from './artifacts.ts';
import { type OpenContent, openContent, readContent } from './downloads.ts';
import { type Doomed, purgeAround, purgeContent } from './purge-content.ts';
import { getArtifact } from './readable-artifact.ts';

const forTask = { forTask: TaskRef.optional() };

export const artifactsApi = [
  endpoint({
    id: 'createArtifact',
    method: 'POST',
    path: '/artifacts',
    summary: 'Record a result; a revision is a new record that supersedes the older one.',
    description:
      'The types `verification` and `skill_result` are refused with `invalid_type`: only the service itself ' +
      'records them.',
    permission: 'artifacts.write',
    body: NewArtifact,
    returns: { 201: Artifact },
    errors: [
      'invalid_type',
      'invalid_name',
      'invalid_artifact_content',
      'secret_material_rejected',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'not_found',
      'artifact_mismatch',
      'child_grant_exceeded',
      'content_ref_not_found',
      'invalid_artifact_metadata',
      'media_type_not_allowed',
      'artifact_too_large',
    ],
    emits: [artifactCreated],
    example: {
      type: 'report',
      name: 'Findings',
      uri: 'https://git.example/findings.md',
      metadata: { pages: 3 },
    },
    handle: ({ body }, context) => createArtifact(context, body),
  }),
  endpoint({
    id: 'listArtifacts',
    method: 'GET',
    path: '/artifacts',
    summary: 'List artifacts, newest first.',
    permission: 'artifacts.read',
    query: {
      taskId: Uuid.optional(),
      runId: Uuid.optional(),
      workspaceId: Uuid.optional(),
      type: QueryWord.optional(),
    },
    paging: true,
    returns: { 200: pageOf(Artifact) },
    errors: ['invalid_cursor'],
    handle: ({ query, page }, context) => listArtifacts(context, query, page),
  }),
  endpoint({
    id: 'getArtifact',
    method: 'GET',
    path: '/artifacts/{id}',
    summary: 'Read an artifact.',
    description: 'With `forTask`, tasks.read is sufficient for an input of that task.',
    permission: ['artifacts.read', 'tasks.read'],
    params: { id: Uuid },
    query: forTask,
    returns: { 200: Artifact },
    errors: ['not_found'],
    handle: ({ params, query }, context) => getArtifact(context, params.id, query.forTask),
  }),
  endpoint({
    id: 'getArtifactContent',
    method: 'GET',
    path: '/artifacts/{id}/content',
    summary: 'Read the bytes of an artifact; the read is recorded.',
    description: 'With `forTask`, tasks.read is sufficient for an input of that task.',
    permission: ['artifacts.read', 'tasks.read'],
    params: { id: Uuid },
    query: forTask,
    returns: { 200: Bytes },
    errors: ['not_found', 'content_not_found', 'content_purged', 'content_store_unavailable'],
    emits: [artifactContentRead],
    transaction: 'command',
    around: ({ params, query }, surroundings: Surroundings<OpenContent, Context>) =>
      openContent(params.id, query.forTask, surroundings),
    handle: ({ prepared }, context) => readContent(context, prepared),
  }),
  endpoint({
    id: 'purgeArtifactContent',
    method: 'POST',
    path: '/artifacts/{id}:purge-content',
    summary: 'Delete the bytes of an artifact permanently; its record remains.',
    permission: 'admin',
    params: { id: Uuid },
    body: z.strictObject({ reason: z.string().min(1).max(2000) }).meta({ id: 'PurgeRequest' }),
    returns: { 200: Artifact },
    errors: ['not_found', 'content_not_stored', 'content_store_unavailable'],
    emits: [artifactContentPurged],
    example: { reason: 'Contains personal data of a customer.' },
    around: ({ params }, surroundings: Surroundings<Doomed, Context>) => purgeAround(params.id, surroundings),
    handle: ({ params, body, prepared }, context) => purgeContent(context, params.id, body.reason, prepared),
  }),
];
