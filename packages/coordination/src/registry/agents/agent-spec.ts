import { z } from 'zod';
import { Slug, TypeKey } from '@baton/values/keys';
import { freeObjectOf, Uuid } from '@baton/values/wire';
import { PermissionList } from '../../access/permission-list.ts';
import { callableProtocols } from '../../organisation/skills/skill-contract.ts';

/** The maximum size as compact JSON in canonical form. */
export const specBytesMax = 262_144;
export const replicasMax = 20;
export const agentStates = ['running', 'stopped'] as const;

/**
 * In characters; the schema accepts any length that fits into a request, because longer texts have a separate error
 * code.
 */
export const textMax = { displayName: 200, description: 2000, any: 65_536 } as const;
const requestCharactersMax = 1_048_576;

const text = (charactersMax: number) =>
  z.string().max(requestCharactersMax).describe(`At most ${charactersMax} characters.`);

function uniqueList<Item extends z.ZodType>(item: Item, itemsMax: number, itemsMin = 0) {
  return z
    .array(item)
    .min(itemsMin)
    .max(itemsMax)
    .refine((items) => new Set(items).size === items.length, 'must not contain duplicates');
}

const word = z.string().min(1).max(200);
const origin = z
  .string()
  .max(500)
  .regex(/^https?:\/\/[^/?#\s]+$/, 'must be scheme, host and port');
const nodeLabel = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._:/=-]{0,62}$/)
  .max(63);
/** The form of a secret's name. See docs/reference/agents.md#secrets. */
export const secretNameForm = /^[a-z0-9][a-z0-9-]{0,62}$/;
const ConnectionKey = z
  .string()
  .max(63)
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/);

const AgentIdentitySpec = z
  .strictObject({
    kind: z.enum(['agent', 'service']),
    roles: uniqueList(Slug, 200).default([]).describe('Slugs of roles of the tenant.'),
    permissions: PermissionList.min(1),
    capabilities: uniqueList(word, 200).default([]).describe('Names of capabilities.'),
    iam: z
      .strictObject({ audiences: uniqueList(word, 20, 1), scopeCeiling: uniqueList(word, 50, 1) })
      .optional()
      .describe('Scopes that its service account in the identity service may request.'),
  })
  .meta({ id: 'AgentIdentitySpec' });

const AgentWorkSpec = z
  .strictObject({
    workspace: z.union([Uuid, Slug]).optional().describe('An id, or a slug that is unique in the tenant.'),
    project: Uuid.optional(),
    includeSubprojects: z.boolean().default(false),
    onlyAssigned: z.boolean().default(true),
    taskTypes: uniqueList(TypeKey, 200).default([]).describe('Empty for all types.'),
  })
  .meta({ id: 'AgentWorkSpec' });

const imageForm =
  /^[a-z0-9][a-z0-9._/-]*(?::\d{1,5}\/[a-z0-9._/-]+)?(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(?:@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})$/;

const AgentExecutorSpec = z
  .strictObject({
    kind: z
      .string()
      .max(100)
      .regex(/^[a-z][a-z0-9-]*$/),
    params: freeObjectOf(specBytesMax).default({}),
    instructions: text(textMax.any).default(''),
    image: z
      .string()
      .max(255)
      .regex(imageForm, 'must be an OCI reference with a tag or a digest')
      .meta({ examples: ['registry.example/agents/reviewer:1.4.2'] })
      .optional(),
  })
  .meta({ id: 'AgentExecutorSpec' });

const AgentSkillsSpec = z
  .strictObject({
    protocols: uniqueList(z.enum(callableProtocols), callableProtocols.length).default([]),
    local: uniqueList(z.string().min(1).max(500), 100).default([]).describe('Entrypoints, module:function.'),
    httpOrigins: uniqueList(origin, 100).default([]),
    mcpOrigins: uniqueList(origin, 100).default([]),
    audiences: uniqueList(word, 20).default([]),
    concurrency: z.int().min(1).max(32).default(1),
    invoke: uniqueList(
      z
        .string()
        .max(251)
        .regex(/^[^@]{1,200}@[^@\s]{1,50}$/, 'must be name@version'),
      200,
    )
      .default([])
      .describe('The skills that the agent may request, as name@version.'),
  })
  .meta({ id: 'AgentSkillsSpec' });

const AgentPlacementSpec = z
  .union([
    z.literal('none'),
    z.strictObject({
      requires: uniqueList(nodeLabel, 50).default([]).describe('Labels that a node must have.'),
      secrets: uniqueList(z.string().max(63).regex(secretNameForm), 50)
        .default([])
        .describe('Names of secrets of the agent.'),
      resources: z
        .strictObject({
          cpus: z.int().min(1).max(64).optional(),
          memoryMb: z.int().min(64).max(262_144).optional(),
        })
        .default({}),
      replicas: z.int().min(0).max(replicasMax).default(1),
      drainSeconds: z.int().min(0).max(14_400).default(0),
    }),
  ])
  .meta({ id: 'AgentPlacementSpec' });

/**
 * The definition of an agent: its identity, rights and work. Its hash excludes `state` and `placement.replicas`. See
 * docs/reference/agents.md#spec.
 */
export const AgentSpec = z
  .strictObject({
    displayName: text(textMax.displayName).min(1),
    description: text(textMax.description).optional(),
    identity: AgentIdentitySpec,
    work: AgentWorkSpec.optional(),
    executor: AgentExecutorSpec.optional(),
    workingCopy: freeObjectOf(specBytesMax).optional(),
    skills: AgentSkillsSpec.optional(),
    connections: uniqueList(ConnectionKey, 20).default([]),
    placement: AgentPlacementSpec.optional(),
    state: z.enum(agentStates).default('running'),
  })
  .refine(({ placement = 'none', executor }) => placement === 'none' || executor !== undefined, {
    path: ['executor'],
    message: 'a placed agent needs an executor',
  })
  .meta({ id: 'AgentSpec' });
export type AgentSpec = z.output<typeof AgentSpec>;

/** The number of replicas in a spec; 0 without a placement. */
export function replicasOf({ placement = 'none' }: AgentSpec): number {
  return placement === 'none' ? 0 : placement.replicas;
}

/** Whether an operator places the agent on a node. */
export const isPlaced = ({ placement = 'none' }: AgentSpec): boolean => placement !== 'none';
