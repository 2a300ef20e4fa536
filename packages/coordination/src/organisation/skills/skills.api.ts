import { pageOf, QueryWord, Uuid } from '@baton/values/wire';
import { refuseNulls } from '../../service/changes.ts';
import { endpoint } from '../context.ts';
import { PackageFilter } from '../package-link.ts';
import { Skill, SkillChange, SkillRef, SkillRequest } from './skill.ts';
import { skillRegistered, skillUpdated } from './skills.events.ts';
import { createSkill, getSkill, listSkills, updateSkill } from './skills.ts';

export const skillsApi = [
  endpoint({
    id: 'createSkill',
    method: 'POST',
    path: '/skills',
    summary: 'Record a version of a skill.',
    description:
      'A skill can be assigned, and tasks may require it. With a contract it can be called, and tools read ' +
      '`contract.inputs`; `sideEffects` and `riskLevel` are then required, and `inputSchema` and `outputSchema` ' +
      'stay null.',
    permission: 'org.manage',
    body: SkillRequest,
    returns: { 201: Skill },
    etag: 'skill',
    errors: [
      'invalid_skill_contract',
      'unsupported_skill_condition',
      'invalid_protocol',
      'secret_material_rejected',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'invalid_json_schema',
      'skill_exists',
    ],
    emits: [skillRegistered],
    example: { name: 'deploy', version: '2.1.0', protocol: 'mcp', sideEffects: 'external_write' },
    handle: ({ body }, context) => createSkill(context, body),
  }),
  endpoint({
    id: 'listSkills',
    method: 'GET',
    path: '/skills',
    summary: 'List skills, newest first.',
    permission: 'org.read',
    query: { name: QueryWord.optional(), status: QueryWord.optional(), package: PackageFilter },
    paging: true,
    returns: { 200: pageOf(Skill) },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query, page }, context) => listSkills(context, query, page),
  }),
  endpoint({
    id: 'getSkill',
    method: 'GET',
    path: '/skills/{ref}',
    summary: 'Read a skill.',
    description:
      'A name alone selects the newest active version, or, if none is active, the newest that is not disabled.',
    permission: ['org.read', 'skills.invoke', 'skills.execute'],
    params: { ref: SkillRef },
    returns: { 200: Skill },
    etag: 'skill',
    errors: ['not_found'],
    handle: ({ params }, context) => getSkill(context, params.ref),
  }),
  endpoint({
    id: 'updateSkill',
    method: 'PATCH',
    path: '/skills/{ref}',
    summary: 'Change the description, status or endpoint of a skill.',
    description:
      'An active version may become deprecated or disabled, a deprecated one disabled. The behaviour of a version ' +
      'never changes, but the `endpoint` of its contract may move. Pending calls are executed at the new endpoint. ' +
      'Calls to a disabled version are withdrawn.',
    permission: 'org.manage',
    ifMatch: 'skill',
    etag: 'skill',
    params: { ref: Uuid },
    body: SkillChange,
    returns: { 200: Skill },
    errors: [
      'invalid_field',
      'not_found',
      'version_conflict',
      'invalid_status',
      'skill_version_immutable',
      'invalid_status_transition',
      'skill_not_invocable',
      'invalid_skill_contract',
      'empty_update',
      'secret_material_rejected',
    ],
    emits: [skillUpdated],
    example: { status: 'deprecated' },
    precheck: ({ body }) => refuseNulls(body, ['inputSchema', 'outputSchema']),
    handle: ({ params, ifMatch, body }, context) => updateSkill(context, params.ref, ifMatch, body),
  }),
];
