import { idParams } from '@baton/values/keys';
import { pageOf } from '@baton/values/wire';
import { refuseNulls } from '../../service/changes.ts';
import { endpoint } from '../context.ts';
import { PackageFilter } from '../package-link.ts';
import { capabilityCreated, capabilityUpdated } from './capabilities.events.ts';
import { createCapability, getCapability, listCapabilities, updateCapability } from './capabilities.ts';
import { Capability, CapabilityChange, CapabilityRequest } from './capability.ts';

export const capabilitiesApi = [
  endpoint({
    id: 'createCapability',
    method: 'POST',
    path: '/capabilities',
    summary: 'Create a capability.',
    description: 'A capability grants no permission; tasks may require it.',
    permission: 'org.manage',
    body: CapabilityRequest,
    returns: { 201: Capability },
    etag: 'capability',
    errors: ['capability_exists'],
    emits: [capabilityCreated],
    example: { name: 'german', description: 'Reads and writes German.' },
    handle: ({ body }, context) => createCapability(context, body),
  }),
  endpoint({
    id: 'listCapabilities',
    method: 'GET',
    path: '/capabilities',
    summary: 'List capabilities, newest first.',
    permission: 'org.read',
    query: { package: PackageFilter },
    paging: true,
    returns: { 200: pageOf(Capability) },
    errors: ['invalid_cursor'],
    handle: ({ query, page }, context) => listCapabilities(context, query, page),
  }),
  endpoint({
    id: 'getCapability',
    method: 'GET',
    path: '/capabilities/{id}',
    summary: 'Read a capability.',
    permission: 'org.read',
    params: idParams,
    returns: { 200: Capability },
    etag: 'capability',
    errors: ['not_found'],
    handle: ({ params }, context) => getCapability(context, params.id),
  }),
  endpoint({
    id: 'updateCapability',
    method: 'PATCH',
    path: '/capabilities/{id}',
    summary: 'Change a capability.',
    description: 'Tasks that require the capability still require it under its new name.',
    permission: 'org.manage',
    ifMatch: 'capability',
    etag: 'capability',
    params: idParams,
    body: CapabilityChange,
    returns: { 200: Capability },
    errors: ['invalid_field', 'not_found', 'version_conflict', 'capability_exists', 'empty_update'],
    emits: [capabilityUpdated],
    example: { description: 'Reads, writes and speaks German.' },
    precheck: ({ body }) => refuseNulls(body),
    handle: ({ params, ifMatch, body }, context) => updateCapability(context, params.id, ifMatch, body),
  }),
];
