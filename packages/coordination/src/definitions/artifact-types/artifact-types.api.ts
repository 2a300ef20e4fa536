import { pageOf, QueryWord } from '@baton/values/wire';
import { PackageFilter } from '../../organisation/package-link.ts';
import { endpoint } from '../context.ts';
import { ArtifactType, ArtifactTypeRef, NewArtifactType } from './artifact-type.ts';
import { artifactTypeCreated } from './artifact-types.events.ts';
import { createArtifactType, getArtifactType, listArtifactTypes } from './artifact-types.ts';

export const artifactTypesApi = [
  endpoint({
    id: 'createArtifactType',
    method: 'POST',
    path: '/artifact-types',
    summary: 'Create the next version of an artifact type.',
    description: 'Versions never change. Artifacts of an unregistered type are not validated.',
    permission: 'artifact_types.manage',
    body: NewArtifactType,
    returns: { 201: ArtifactType },
    errors: [
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'invalid_json_schema',
      'secret_material_rejected',
      'invalid_artifact_type',
    ],
    emits: [artifactTypeCreated],
    example: { key: 'report', displayName: 'Report', mediaTypes: ['application/pdf', 'text/*'] },
    handle: ({ body }, context) => createArtifactType(context, body),
  }),
  endpoint({
    id: 'listArtifactTypes',
    method: 'GET',
    path: '/artifact-types',
    summary: 'List artifact types, all versions, newest first.',
    permission: 'artifact_types.read',
    query: { key: QueryWord.optional(), package: PackageFilter },
    paging: true,
    returns: { 200: pageOf(ArtifactType) },
    errors: ['invalid_cursor'],
    handle: ({ query, page }, context) => listArtifactTypes(context, query, page),
  }),
  endpoint({
    id: 'getArtifactType',
    method: 'GET',
    path: '/artifact-types/{ref}',
    summary: 'Read an artifact type.',
    permission: 'artifact_types.read',
    params: { ref: ArtifactTypeRef },
    returns: { 200: ArtifactType },
    errors: ['not_found'],
    handle: ({ params }, context) => getArtifactType(context, params.ref),
  }),
];
