import { reply } from '@baton/kernel/http/service';
import { idParams } from '@baton/values/keys';
import { QueryWord } from '@baton/values/wire';
import { endpoint } from '../../context.ts';
import {
  ExternalReference,
  ExternalReferencePage,
  ExternalReferenceRequest,
  ProjectReferenceRequest,
} from './external-reference.ts';
import {
  externalReferenceAdded,
  externalReferenceRemoved,
  externalReferenceUpdated,
  projectReferenceAdded,
  projectReferenceRemoved,
  projectReferenceUpdated,
} from './external-references.events.ts';
import {
  deleteExternalReference,
  listExternalReferences,
  parseEntityType,
  putExternalReference,
} from './external-references.ts';

export const externalReferencesApi = [
  endpoint({
    id: 'putExternalReference',
    method: 'POST',
    path: '/external-references',
    summary: 'Set an external name of a task or a project.',
    description:
      'Repeating the name replaces the metadata: 201 for a new name, otherwise 200. A task needs tasks.write, a ' +
      'project projects.manage.',
    permission: ['tasks.write', 'projects.manage'],
    body: ExternalReferenceRequest,
    returns: { 200: ExternalReference, 201: ExternalReference },
    errors: [
      'invalid_entity_type',
      'invalid_entity_reference',
      'not_found',
      'invalid_external_reference',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'secret_material_rejected',
      'external_reference_conflict',
      'not_eligible',
    ],
    emits: [externalReferenceAdded, externalReferenceUpdated, projectReferenceAdded, projectReferenceUpdated],
    example: {
      externalSystem: 'github',
      externalType: 'issue',
      externalId: 'acme/platform#7',
      entityType: 'task',
      entityId: 'TASK-000042',
    },
    precheck: ({ body }) => {
      parseEntityType(body.entityType);
    },
    async handle({ body }, context) {
      const { reference, isNew } = await putExternalReference(context, body);
      return reply(isNew ? 201 : 200, reference);
    },
  }),
  endpoint({
    id: 'listExternalReferences',
    method: 'GET',
    path: '/external-references',
    summary: 'List the external names of an object, or find the object with a name.',
    description: 'Either entityType and entityId, or externalSystem, externalType and externalId.',
    permission: ['tasks.read', 'projects.read'],
    query: {
      entityType: QueryWord.optional(),
      entityId: QueryWord.optional(),
      externalSystem: QueryWord.optional(),
      externalType: QueryWord.optional(),
      externalId: QueryWord.optional(),
    },
    paging: true,
    returns: { 200: ExternalReferencePage },
    errors: [
      'invalid_external_lookup',
      'invalid_entity_type',
      'invalid_entity_reference',
      'not_found',
      'invalid_cursor',
    ],
    handle: ({ query, page }, context) => listExternalReferences(context, query, page),
  }),
  endpoint({
    id: 'deleteExternalReference',
    method: 'DELETE',
    path: '/external-references/{id}',
    summary: 'Remove an external name.',
    permission: ['tasks.write', 'projects.manage'],
    params: idParams,
    returns: { 204: null },
    errors: ['not_found', 'not_eligible'],
    emits: [externalReferenceRemoved, projectReferenceRemoved],
    handle: ({ params }, context) => deleteExternalReference(context, params.id),
  }),
  endpoint({
    id: 'putProjectReference',
    method: 'POST',
    path: '/projects/{id}/external-references',
    summary: 'Set an external name of a project.',
    description: 'Repeating the name replaces the metadata: 201 for a new name, otherwise 200.',
    permission: 'projects.manage',
    params: idParams,
    body: ProjectReferenceRequest,
    returns: { 200: ExternalReference, 201: ExternalReference },
    errors: [
      'not_found',
      'invalid_external_reference',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'secret_material_rejected',
      'external_reference_conflict',
    ],
    emits: [projectReferenceAdded, projectReferenceUpdated],
    example: { externalSystem: 'jira', externalType: 'project', externalId: 'LAUNCH' },
    async handle({ params, body }, context) {
      const named = { ...body, entityType: 'project', entityId: params.id };
      const { reference, isNew } = await putExternalReference(context, named);
      return reply(isNew ? 201 : 200, reference);
    },
  }),
  endpoint({
    id: 'listProjectReferences',
    method: 'GET',
    path: '/projects/{id}/external-references',
    summary: 'List the external names of a project.',
    permission: 'projects.read',
    params: idParams,
    paging: true,
    returns: { 200: ExternalReferencePage },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params, page }, context) =>
      listExternalReferences(context, { entityType: 'project', entityId: params.id }, page),
  }),
];
