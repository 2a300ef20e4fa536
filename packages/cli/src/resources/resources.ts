import { writeFile } from 'node:fs/promises';
import type {
  Artifact,
  Claim,
  identity,
  ListedAgent,
  ListedApproval,
  Principal,
  ProcessInstance,
  Project,
  Run,
  Skill,
} from '@baton/sdk';
import { objectIn } from '../json-object.ts';
import { PlainError } from '../plain-error.ts';
import { createArtifact } from './artifact-create.ts';
import { organisationResources } from './organisation.ts';
import { type Called, columnsOf, type Resource } from './resource.ts';

const reason = ['--reason <text>', 'why, for the journal'] as const;

/** What identity's administration needs, which only the owner of a Baton on this machine has. */
function tenantOf({ access, options }: Called): string {
  const tenant = (options['tenant'] as string | undefined) ?? access.tenantId;
  if (tenant === undefined || access.adminSecret === undefined)
    throw new PlainError(
      'This is for whoever runs Baton: run it on its machine, where its connection file is (BATON_HOME).',
    );
  return tenant;
}

/** Identity's pages have their own form of cursor. */
async function* peopleOf(called: Called): AsyncGenerator<identity.Principal> {
  const tenant = tenantOf(called);
  for (let after: string | null | undefined; after !== null; ) {
    const page = await called.baton.identity.principals.list(tenant, after === undefined ? {} : { after });
    yield* page.items;
    after = page.next_after;
  }
}

const given = (value: string | boolean | undefined) => (typeof value === 'string' ? value : undefined);
const because = ({ options }: Called) => {
  const text = given(options['reason']);
  return text === undefined ? {} : { reason: text };
};

/** Every kind of thing whose commands are nothing but calls. */
export const resources: readonly Resource[] = [
  {
    noun: 'claim',
    summary: 'leases on tasks',
    list: {
      columns: columnsOf<Claim>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['TOKEN', 'fencingToken'],
        ['EXPIRES', 'expiresAt'],
        ['INTENT', 'intent'],
      ),
      filters: [
        ['--task-id <id>', 'of this task'],
        ['--session-id <id>', 'of this session'],
        ['--status <status>', 'active, released or stale'],
      ],
      call: ({ baton }, query) => baton.claims.list(query),
    },
    view: { argument: 'id', call: ({ baton, args: [id = ''] }) => baton.claims.get(id) },
    acts: [
      {
        usage: 'release <id>',
        summary: 'end a lease: its task can be taken again',
        options: [reason],
        call: (called) => called.baton.claims.release(called.args[0] ?? '', because(called)),
        says: ({ id }) => `Lease ${id} is released.`,
      },
    ],
  },
  {
    noun: 'run',
    summary: 'attempts at tasks',
    list: {
      columns: columnsOf<Run>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['ATTEMPT', 'attempt'],
        ['STARTED', 'startedAt'],
        ['REASON', 'failureReason'],
      ),
      filters: [
        ['--task-id <id>', 'of this task'],
        ['--status <status>', 'running, succeeded, failed, cancelled or suspended'],
        ['--agent-key <key>', 'of this agent of the registry'],
        ['--stalled', 'only those that make no progress'],
      ],
      call: ({ baton }, query) => baton.runs.list(query),
    },
    view: { argument: 'id', call: ({ baton, args: [id = ''] }) => baton.runs.getContext(id) },
    acts: [
      {
        usage: 'cancel <id>',
        summary: 'ask whoever runs it to stop',
        options: [reason],
        call: (called) => called.baton.runs.requestCancel(called.args[0] ?? '', because(called)),
        says: ({ id }) => `Run ${id} is asked to stop.`,
      },
    ],
  },
  {
    noun: 'approval',
    summary: 'decisions that people are asked for',
    list: {
      columns: columnsOf<ListedApproval>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['GATE', 'gate'],
        ['CHANGED', 'subjectChanged'],
        ['REQUESTED', 'createdAt'],
        ['COMMENT', 'comment'],
      ),
      filters: [
        ['--status <status>', 'pending, approved, rejected or cancelled'],
        ['--task-id <id>', 'about this task'],
      ],
      call: ({ baton }, query) => baton.approvals.list(query),
    },
  },
  {
    noun: 'artifact',
    summary: 'results of work',
    list: {
      columns: columnsOf<Artifact>(
        ['ID', 'id'],
        ['TYPE', 'type'],
        ['BYTES', 'sizeBytes'],
        ['CREATED', 'createdAt'],
        ['NAME', 'name'],
      ),
      filters: [
        ['--task-id <id>', 'of this task'],
        ['--run-id <id>', 'of this run'],
        ['--type <type>', 'of this type'],
      ],
      call: ({ baton }, query) => baton.artifacts.list(query),
    },
    view: { argument: 'id', call: ({ baton, args: [id = ''] }) => baton.artifacts.get(id) },
    acts: [
      {
        usage: 'create <name> [file]',
        summary: 'record a result: a file, an address, or a document of JSON',
        options: [
          ['--task <ref>', 'of which task'],
          ['--run-id <id>', 'of which run'],
          ['--type <type>', 'what kind of result; `file`, `link` or `document` without it'],
          ['--media-type <type>', 'what the bytes are; application/octet-stream without it'],
          ['--uri <address>', 'where it lies, instead of a file'],
          ['--content <json>', 'what it is, instead of a file'],
        ],
        call: createArtifact,
        says: ({ id, name }) => `Artifact ${String(id)} is recorded: ${String(name)}.`,
      },
      {
        usage: 'download <id> <file>',
        summary: 'write its bytes into a file',
        call: async ({ baton, args: [id = '', file = ''] }) => {
          const answer = await baton.artifacts.getContent(id);
          const bytes = new Uint8Array(await answer.arrayBuffer());
          await writeFile(file, bytes);
          return { file, sizeBytes: bytes.length };
        },
        says: ({ file, sizeBytes }) => `${String(file)} has ${String(sizeBytes)} bytes.`,
      },
    ],
  },
  {
    noun: 'agent',
    summary: 'agents of the registry',
    list: {
      columns: columnsOf<ListedAgent>(
        ['KEY', 'key'],
        ['STATE', 'state'],
        ['STATUS', 'status'],
        ['REVISION', 'currentRevision'],
        ['NAME', 'displayName'],
      ),
      filters: [
        ['--state <state>', 'running or stopped'],
        ['--status <status>', 'active or retired'],
      ],
      call: ({ baton }, query) => baton.agents.list(query),
    },
    view: { argument: 'key', call: ({ baton, args: [key = ''] }) => baton.agents.get(key) },
  },
  {
    noun: 'skill',
    summary: 'what agents and services can do',
    list: {
      columns: columnsOf<Skill>(['ID', 'id'], ['NAME', 'name'], ['VERSION', 'version'], ['STATUS', 'status']),
      filters: [],
      call: ({ baton }, query) => baton.skills.list(query),
    },
    view: { argument: 'ref', call: ({ baton, args: [ref = ''] }) => baton.skills.get(ref) },
  },
  {
    noun: 'project',
    summary: 'projects',
    list: {
      columns: columnsOf<Project>(
        ['ID', 'id'],
        ['STATUS', 'statusKey'],
        ['TEMPLATE', 'templateKey'],
        ['TARGET', 'targetDate'],
        ['WORKSPACE', 'workspaceId'],
      ),
      filters: [['--workspace-id <id>', 'of this workspace']],
      call: ({ baton }, query) => baton.projects.list(query),
    },
    view: { argument: 'id', call: ({ baton, args: [id = ''] }) => baton.projects.get(id) },
  },
  {
    noun: 'process',
    summary: 'instances of processes',
    list: {
      columns: columnsOf<ProcessInstance>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['DEFINITION', 'definitionKey'],
        ['KEY', 'instanceKey'],
        ['OUTCOME', 'outcome'],
      ),
      filters: [['--status <status>', 'running, suspended, completed, failed or cancelled']],
      call: ({ baton }, query) => baton.processInstances.list(query),
    },
    view: { argument: 'id', call: ({ baton, args: [id = ''] }) => baton.processInstances.get(id) },
    acts: [
      {
        usage: 'start <process> <key>',
        summary: 'start one by the newest version of its definition; its key tells it from others',
        options: [
          ['--data <json>', 'what it begins with, as a JSON object'],
          ['--workspace <id>', 'where its work belongs'],
        ],
        call({ baton, args: [process = '', key = ''], options }) {
          const [data, workspaceId] = [given(options['data']), given(options['workspace'])];
          return baton.processInstances.create({
            process,
            key,
            ...(data !== undefined && { data: objectIn(data, '--data', '{"order": "4711"}') }),
            ...(workspaceId !== undefined && { workspaceId }),
          });
        },
        says: ({ id, status }) => `Process ${String(id)} is ${String(status)}.`,
      },
      {
        usage: 'resume <id>',
        summary: 'go on with one that is suspended',
        options: [reason],
        call: (called) => called.baton.processInstances.resume(called.args[0] ?? '', because(called)),
        says: ({ id, status }) => `Process ${String(id)} is ${String(status)}.`,
      },
      {
        usage: 'cancel <id>',
        summary: 'end one',
        options: [reason],
        call: (called) =>
          called.baton.processInstances.cancel(called.args[0] ?? '', because(called) as { reason: string }),
        says: ({ id, status }) => `Process ${String(id)} is ${String(status)}.`,
      },
    ],
  },
  {
    noun: 'principal',
    summary: 'people, agents and services at coordination',
    list: {
      columns: columnsOf<Principal>(
        ['ID', 'id'],
        ['KIND', 'kind'],
        ['STATUS', 'status'],
        ['NAME', 'displayName'],
      ),
      filters: [],
      call: ({ baton }, query) => baton.principals.list(query),
    },
    view: { argument: 'id', call: ({ baton, args: [id = ''] }) => baton.principals.get(id) },
    acts: [
      {
        usage: 'disable <id>',
        summary: 'stop somebody: their leases and runs end',
        options: [reason],
        call: (called) => called.baton.principals.disable(called.args[0] ?? '', because(called)),
        says: () => 'Disabled: no later write of this principal succeeds.',
      },
      {
        usage: 'enable <id>',
        summary: 'let somebody act again',
        call: ({ baton, args: [id = ''] }) => baton.principals.enable(id, {}),
        says: () => 'Enabled.',
      },
    ],
  },
  {
    noun: 'directory',
    summary: 'people, agents and services at identity, for whoever runs Baton',
    list: {
      columns: columnsOf<identity.Principal>(
        ['ID', 'id'],
        ['KIND', 'kind'],
        ['STATUS', 'status'],
        ['NAME', 'display_name'],
      ),
      filters: [],
      call: (called) => peopleOf(called),
    },
    view: {
      argument: 'id',
      call: (called) => called.baton.identity.principals.get(tenantOf(called), called.args[0] ?? ''),
    },
  },
  {
    noun: 'token',
    summary: 'personal access tokens, for whoever runs Baton',
    list: {
      columns: columnsOf<identity.PlatformAccessToken>(
        ['ID', 'id'],
        ['PREFIX', 'publicPrefix'],
        ['EXPIRES', 'expiresAt'],
        ['REVOKED', 'revokedAt'],
        ['NAME', 'name'],
      ),
      filters: [],
      async *call(called) {
        yield* await called.baton.identity.platformAccessTokens.list(tenantOf(called));
      },
    },
    acts: [
      {
        usage: 'create <principalId> <name>',
        summary: 'issue a token; it is shown this once',
        options: [['--days <number>', 'how long it is valid; 30 without it']],
        call: (called) => {
          const [principalId = '', name = ''] = called.args;
          const days = Number(given(called.options['days']) ?? 30);
          if (!(days > 0)) throw new PlainError('--days is a number of days.');
          return called.baton.identity.principals.createToken(tenantOf(called), principalId, {
            name,
            audiences: ['control-plane'],
            scopeCeiling: ['control-plane:read', 'control-plane:write'],
            expiresInSeconds: Math.round(days * 86_400),
          });
        },
        says: ({ token }) => String(token),
      },
      {
        usage: 'revoke <id>',
        summary: 'end a token at once',
        options: [reason],
        async call(called) {
          const [id = ''] = called.args;
          await called.baton.identity.platformAccessTokens.revoke(tenantOf(called), id, because(called));
          return { id };
        },
        says: ({ id }) => `Token ${String(id)} is revoked.`,
      },
    ],
  },
  ...organisationResources,
];
