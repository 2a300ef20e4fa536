import { pageOf, QueryWord, Uuid } from '@baton/kernel/wire';
import { endpoint } from '../context.ts';
import { Artifact, NewArtifact } from './artifact.ts';
import { artifactCreated } from './artifacts.events.ts';
import { createArtifact, getArtifact, listArtifacts } from './artifacts.ts';

export const artifactsApi = [
  endpoint({
    id: 'createArtifact',
    method: 'POST',
    path: '/artifacts',
    summary: 'Record a result; a revision is a new record that supersedes the older one.',
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
    permission: 'artifacts.read',
    params: { id: Uuid },
    returns: { 200: Artifact },
    errors: ['not_found'],
    handle: ({ params }, context) => getArtifact(context, params.id),
  }),
];
