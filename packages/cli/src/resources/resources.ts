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
import { counted } from '@baton/values/counted';
import { invocation } from '../../../../bin/invocation.mjs';
import { objectIn } from '../json-object.ts';
import { findPrincipalId, findProjectId, findTaskId, findWorkspaceId } from '../names.ts';
import { fieldsNamed, responseOf } from '../result-form.ts';
import { wholeNumber } from '../whole-number.ts';
import { workloadResource } from '../workload/workload-resource.ts';
import { createArtifact } from './artifact-create.ts';
import { statusText, withIdentityStatus } from './identity-status.ts';
import { organisationResources } from './organisation.ts';
import { findIdentityPrincipalId, peopleOf, resolveTenant } from './people.ts';
import { type Called, defineColumns, type Item, type Resource } from './resource.ts';

const reason = ['--reason <text>', 'why, for the journal'] as const;

/** Without --all it omits the disabled principals of demos: a removed demo leaves a hundred of them. */
async function* listPrincipals({ baton }: Called, { all, ...query }: Readonly<Record<string, unknown>>) {
  for await (const principal of baton.principals.list(query)) {
    const { status, metadata } = principal;
    if (all === true || status !== 'disabled' || metadata['demo'] === undefined) yield principal;
  }
}

const given = (value: unknown) => (typeof value === 'string' ? value : undefined);
const because = ({ options }: Called) => {
  const text = given(options['reason']);
  return text === undefined ? {} : { reason: text };
};

const remaining = 'other services accept access tokens until they expire, at most 300 s';

/**
 * Coordination ends the principal's sessions and leases. Identity, and services that accept its tokens, are not
 * affected.
 */
function disabledText({ displayName }: Item): string {
  const name = String(displayName);
  return [
    `${name} is disabled: leases and runs have ended, and coordination refuses every request.`,
    `What remains: identity still exchanges credentials for access tokens (${invocation()} directory disable ends that), and ${remaining}.`,
  ].join('\n');
}

function disabledPersonText({ revokedCredentials: count }: Item): string {
  return [
    `Disabled: ${counted(Number(count), 'token')} revoked, and Baton rejects earlier access tokens at once.`,
    `What remains: ${remaining}.`,
  ].join('\n');
}

/** All kinds of objects whose commands are plain API calls. */
export const resources: readonly Resource[] = [
  {
    noun: 'claim',
    summary: 'leases on tasks',
    list: {
      operation: 'listClaims',
      columns: defineColumns<Claim>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['TOKEN', 'fencingToken'],
        ['EXPIRES', 'expiresAt'],
        ['INTENT', 'intent'],
      ),
      filters: [
        ['--task-id <ref>', 'of this task', findTaskId],
        ['--session-id <id>', 'of this session'],
        ['--status <status>', 'active, released or stale'],
      ],
      call: ({ baton }, query) => baton.claims.list(query),
    },
    view: {
      argument: 'id',
      operation: 'getClaim',
      call: ({ baton, args: [id = ''] }) => baton.claims.get(id),
    },
    acts: [
      {
        usage: 'release <id>',
        summary: 'end a lease, which makes its task available again',
        result: responseOf('releaseClaim'),
        options: [reason],
        call: (called) => called.baton.claims.release(called.args[0] ?? '', because(called)),
        says: ({ id }) => `Lease ${id} is released.`,
      },
    ],
  },
  {
    noun: 'run',
    summary: 'attempts of tasks',
    list: {
      operation: 'listRuns',
      columns: defineColumns<Run>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['ATTEMPT', 'attempt'],
        ['STARTED', 'startedAt'],
        ['REASON', 'failureReason'],
      ),
      filters: [
        ['--task-id <ref>', 'of this task', findTaskId],
        ['--status <status>', 'running, succeeded, failed, cancelled or suspended'],
        ['--agent-key <key>', 'of this agent of the registry'],
        ['--stalled', 'only those without progress'],
      ],
      call: ({ baton }, query) => baton.runs.list(query),
    },
    view: {
      argument: 'id',
      operation: 'getRunContext',
      call: ({ baton, args: [id = ''] }) => baton.runs.getContext(id),
    },
    acts: [
      {
        usage: 'cancel <id>',
        summary: 'request a run to stop',
        result: responseOf('requestRunCancel'),
        options: [reason],
        call: (called) => called.baton.runs.requestCancel(called.args[0] ?? '', because(called)),
        says: ({ id }) => `Run ${id} was requested to stop.`,
      },
    ],
  },
  {
    noun: 'approval',
    summary: 'requests for decisions by people',
    list: {
      operation: 'listApprovals',
      columns: defineColumns<ListedApproval>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['GATE', 'gate'],
        ['CHANGED', 'subjectChanged'],
        ['REQUESTED', 'createdAt'],
        ['COMMENT', 'comment'],
      ),
      filters: [
        ['--status <status>', 'pending, approved, rejected or cancelled'],
        ['--task-id <ref>', 'about this task', findTaskId],
      ],
      call: ({ baton }, query) => baton.approvals.list(query),
    },
  },
  {
    noun: 'artifact',
    summary: 'results of work',
    list: {
      operation: 'listArtifacts',
      columns: defineColumns<Artifact>(
        ['ID', 'id'],
        ['TYPE', 'type'],
        ['BYTES', 'sizeBytes'],
        ['CREATED', 'createdAt'],
        ['NAME', 'name'],
      ),
      filters: [
        ['--task-id <ref>', 'of this task', findTaskId],
        ['--run-id <id>', 'of this run'],
        ['--type <type>', 'of this type'],
      ],
      call: ({ baton }, query) => baton.artifacts.list(query),
    },
    view: {
      argument: 'id',
      operation: 'getArtifact',
      call: ({ baton, args: [id = ''] }) => baton.artifacts.get(id),
    },
    acts: [
      {
        usage: 'create <name> [file]',
        summary: 'record a result: a file, an address, or a document of JSON',
        result: responseOf('createArtifact'),
        options: [
          ['--task <ref>', 'its task'],
          ['--run-id <id>', 'its run'],
          ['--type <type>', 'the kind of result; `file`, `link` or `document` by default'],
          ['--media-type <type>', 'the media type; application/octet-stream by default'],
          ['--uri <address>', 'its address, instead of a file'],
          ['--content <json>', 'its content, instead of a file'],
        ],
        call: createArtifact,
        says: ({ id, name }) => `Artifact ${String(id)} is recorded: ${String(name)}.`,
      },
      {
        usage: 'download <id> <file>',
        summary: 'write the content to a file',
        result: fieldsNamed('file', 'sizeBytes'),
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
      operation: 'listAgents',
      columns: defineColumns<ListedAgent>(
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
    view: {
      argument: 'key',
      operation: 'getAgent',
      call: ({ baton, args: [key = ''] }) => baton.agents.get(key),
    },
  },
  {
    noun: 'skill',
    summary: 'capabilities of agents and services',
    list: {
      operation: 'listSkills',
      columns: defineColumns<Skill>(
        ['ID', 'id'],
        ['NAME', 'name'],
        ['VERSION', 'version'],
        ['STATUS', 'status'],
      ),
      filters: [],
      call: ({ baton }, query) => baton.skills.list(query),
    },
    view: {
      argument: 'ref',
      operation: 'getSkill',
      call: ({ baton, args: [ref = ''] }) => baton.skills.get(ref),
    },
  },
  {
    noun: 'project',
    summary: 'projects',
    list: {
      operation: 'listProjects',
      columns: defineColumns<Project>(
        ['ID', 'id'],
        ['STATUS', 'statusKey'],
        ['TEMPLATE', 'templateKey'],
        ['TARGET', 'targetDate'],
        ['WORKSPACE', 'workspaceId'],
      ),
      filters: [['--workspace-id <workspace>', 'of this workspace, by slug, name or id', findWorkspaceId]],
      call: ({ baton }, query) => baton.projects.list(query),
    },
    view: {
      argument: 'project',
      operation: 'getProject',
      call: async ({ baton, args: [name = ''] }) => baton.projects.get(await findProjectId(baton, name)),
    },
  },
  {
    noun: 'process',
    summary: 'instances of processes',
    list: {
      operation: 'listProcessInstances',
      columns: defineColumns<ProcessInstance>(
        ['ID', 'id'],
        ['STATUS', 'status'],
        ['DEFINITION', 'definitionKey'],
        ['KEY', 'instanceKey'],
        ['OUTCOME', 'outcome'],
      ),
      filters: [['--status <status>', 'running, suspended, completed, failed or cancelled']],
      call: ({ baton }, query) => baton.processInstances.list(query),
    },
    view: {
      argument: 'id',
      operation: 'getProcessInstance',
      call: ({ baton, args: [id = ''] }) => baton.processInstances.get(id),
    },
    acts: [
      {
        usage: 'start <process> <key>',
        summary: 'start an instance with the newest version of its definition; its key must be unique',
        result: responseOf('createProcessInstance'),
        options: [
          ['--data <json>', 'its initial data, as a JSON object'],
          ['--workspace <workspace>', 'the workspace of its work, by slug, name or id'],
        ],
        async call({ baton, args: [process = '', key = ''], options }) {
          const [text, workspace] = [given(options['data']), given(options['workspace'])];
          const data = text === undefined ? undefined : objectIn(text, '--data', '{"order": "4711"}');
          const workspaceId = workspace === undefined ? undefined : await findWorkspaceId(baton, workspace);
          return baton.processInstances.create({
            process,
            key,
            ...(data !== undefined && { data }),
            ...(workspaceId !== undefined && { workspaceId }),
          });
        },
        says: ({ id, status }) => `Process ${String(id)} is ${String(status)}.`,
      },
      {
        usage: 'resume <id>',
        summary: 'resume a suspended instance',
        result: responseOf('resumeProcessInstance'),
        options: [reason],
        call: (called) => called.baton.processInstances.resume(called.args[0] ?? '', because(called)),
        says: ({ id, status }) => `Process ${String(id)} is ${String(status)}.`,
      },
      {
        usage: 'cancel <id>',
        summary: 'cancel an instance',
        result: responseOf('cancelProcessInstance'),
        options: [reason],
        call: (called) =>
          called.baton.processInstances.cancel(called.args[0] ?? '', because(called) as { reason: string }),
        says: ({ id, status }) => `Process ${String(id)} is ${String(status)}.`,
      },
    ],
  },
  {
    noun: 'principal',
    summary: 'people, agents and services in coordination',
    list: {
      operation: 'listPrincipals',
      columns: [
        ...defineColumns<Principal>(['ID', 'id'], ['KIND', 'kind']),
        ['STATUS', statusText],
        ...defineColumns<Principal>(['NAME', 'displayName']),
      ],
      filters: [
        ['--q <words>', 'with an e-mail address or words in the name that begin with these words'],
        ['--kind <kind>', 'human, agent or service'],
        ['--all', 'include the disabled principals of demos'],
      ],
      call: (called, query) => withIdentityStatus(called, listPrincipals(called, query)),
    },
    view: {
      argument: 'principal',
      operation: 'getPrincipal',
      call: async ({ baton, args: [name = ''] }) => baton.principals.get(await findPrincipalId(baton, name)),
    },
    acts: [
      {
        usage: 'disable <principal>',
        summary: 'disable a principal: its leases and runs end',
        result: responseOf('disablePrincipal'),
        options: [reason],
        call: async (called) =>
          called.baton.principals.disable(
            await findPrincipalId(called.baton, called.args[0] ?? ''),
            because(called),
          ),
        says: disabledText,
      },
      {
        usage: 'enable <principal>',
        summary: 'enable a disabled principal',
        result: responseOf('enablePrincipal'),
        call: async ({ baton, args: [name = ''] }) =>
          baton.principals.enable(await findPrincipalId(baton, name), {}),
        says: ({ displayName }) =>
          `${String(displayName)} is enabled. Its links to identity were revoked when it was disabled and stay revoked: create a new one with POST /principals/ID/iam-bindings.`,
      },
    ],
  },
  {
    noun: 'directory',
    summary: 'people, agents and services in identity, for the operator',
    list: {
      operation: 'identity.listPrincipals',
      columns: defineColumns<identity.Principal>(
        ['ID', 'id'],
        ['KIND', 'kind'],
        ['STATUS', 'status'],
        ['NAME', 'display_name'],
      ),
      filters: [],
      call: (called) => peopleOf(called),
    },
    view: {
      argument: 'principal',
      operation: 'identity.getPrincipal',
      call: async (called) =>
        called.baton.identity.principals.get(
          resolveTenant(called),
          await findIdentityPrincipalId(called, called.args[0] ?? ''),
        ),
    },
    acts: [
      {
        usage: 'disable <principal>',
        summary: 'disable a principal in every service, and revoke all of its tokens',
        result: responseOf('identity.disablePrincipal'),
        options: [reason],
        call: async (called) =>
          called.baton.identity.principals.disable(
            resolveTenant(called),
            await findIdentityPrincipalId(called, called.args[0] ?? ''),
            because(called),
          ),
        says: disabledPersonText,
      },
      {
        usage: 'enable <principal>',
        summary: 'enable a principal again; its revoked tokens remain revoked',
        result: responseOf('identity.enablePrincipal'),
        call: async (called) =>
          called.baton.identity.principals.enable(
            resolveTenant(called),
            await findIdentityPrincipalId(called, called.args[0] ?? ''),
          ),
        says: () => 'Enabled.',
      },
    ],
  },
  {
    noun: 'token',
    summary: 'personal access tokens, for the operator',
    list: {
      operation: 'identity.listPlatformAccessTokens',
      columns: defineColumns<identity.PlatformAccessToken>(
        ['ID', 'id'],
        ['PREFIX', 'publicPrefix'],
        ['EXPIRES', 'expiresAt'],
        ['REVOKED', 'revokedAt'],
        ['NAME', 'name'],
      ),
      filters: [],
      async *call(called) {
        yield* await called.baton.identity.platformAccessTokens.list(resolveTenant(called));
      },
    },
    acts: [
      {
        usage: 'create <principal> <name>',
        summary: 'issue a token, which is shown only once',
        result: responseOf('identity.createPlatformAccessToken'),
        options: [['--days <number>', 'its lifetime in days; 30 by default', wholeNumber(1, 3650)]],
        call: async (called) => {
          const [principal = '', name = ''] = called.args;
          const days = Number(called.options['days'] ?? 30);
          const principalId = await findIdentityPrincipalId(called, principal);
          return called.baton.identity.principals.createToken(resolveTenant(called), principalId, {
            name,
            audiences: ['control-plane'],
            scopeCeiling: ['control-plane:read', 'control-plane:write'],
            expiresInSeconds: days * 86_400,
          });
        },
        says: ({ token }) => String(token),
      },
      {
        usage: 'revoke <id>',
        summary: 'revoke a token at once',
        result: fieldsNamed('id'),
        options: [reason],
        async call(called) {
          const [id = ''] = called.args;
          await called.baton.identity.platformAccessTokens.revoke(resolveTenant(called), id, because(called));
          return { id };
        },
        says: ({ id }) => `Token ${String(id)} is revoked.`,
      },
    ],
  },
  workloadResource,
  ...organisationResources,
];
