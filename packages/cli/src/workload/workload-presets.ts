import { readFile } from 'node:fs/promises';
import type { identity } from '@baton/sdk';
import { exitCodes } from '../error-text.ts';
import { PlainError } from '../plain-error.ts';

/** What `baton workload add` needs to know about each platform. */

export type PresetOptions = Readonly<Record<string, string | number | boolean | undefined>>;
type Claims = identity.NewWorkloadRule['claims'];

export interface Preset {
  readonly issuer: string;
  readonly claims: Claims;
  /** The name of the rule, unless --rule names it. */
  readonly ruleKey: string;
}

const githubIssuer = 'https://token.actions.githubusercontent.com';
const answerMsMax = 10_000;

export const presetNames = ['github', 'gitlab', 'kubernetes', 'spiffe'] as const;

/** Reads the options of a platform. @throws PlainError that names the missing option */
export function readPreset(
  name: string,
  options: PresetOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Preset> {
  if (name === 'github') return github(options, environment);
  if (name === 'gitlab') return Promise.resolve(gitlab(options));
  if (name === 'kubernetes') return Promise.resolve(kubernetes(options));
  if (name === 'spiffe') return Promise.resolve(spiffe(options));
  throw wrongUse(`--preset is one of ${presetNames.join(', ')}.`);
}

/** After a repository is renamed or deleted, its name can be given to strangers, so the rule contains the id. */
async function github(
  options: PresetOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Preset> {
  const name = textOf(options, 'repository');
  if (name === undefined || !/^[\w.-]+\/[\w.-]+$/.test(name))
    throw wrongUse('--repository must name a repository on GitHub, such as acme/shop.');
  const id = textOf(options, 'repositoryId') ?? (await repositoryIdOf(name, environment));
  const ref = textOf(options, 'ref') ?? 'refs/heads/main';
  return {
    issuer: textOf(options, 'issuer') ?? githubIssuer,
    claims: { repository_id: { equals: id }, ref: conditionOf(ref) },
    ruleKey: keyOf(name),
  };
}

/** Works for public repositories only, because no token is sent. GITHUB_API_URL is set in jobs, and for enterprises. */
async function repositoryIdOf(
  name: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const base = environment['GITHUB_API_URL'] || 'https://api.github.com';
  const advice = `Add --repository-id: gh api repos/${name} --jq .id prints it.`;
  try {
    const answer = await fetch(`${base}/repos/${name}`, {
      headers: { accept: 'application/vnd.github+json', 'user-agent': 'baton' },
      signal: AbortSignal.timeout(answerMsMax),
      redirect: 'error',
    });
    const { id } = (await answer.json()) as { id?: unknown };
    if (answer.status === 200 && Number.isSafeInteger(id)) return String(id);
  } catch (cause) {
    throw new PlainError(`The id of ${name} can't be read from ${base}. ${advice}`, { cause });
  }
  throw new PlainError(`GitHub shows no public repository ${name}. ${advice}`);
}

function gitlab(options: PresetOptions): Preset {
  const project = textOf(options, 'projectId');
  if (project === undefined || !/^\d+$/.test(project))
    throw wrongUse('--project-id is the number on the page of the GitLab project.');
  return {
    issuer: textOf(options, 'issuer') ?? 'https://gitlab.com',
    claims: {
      project_id: { equals: project },
      ref_type: { equals: 'branch' },
      ref: conditionOf(textOf(options, 'ref') ?? 'main'),
    },
    ruleKey: `project-${project}`,
  };
}

function kubernetes(options: PresetOptions): Preset {
  const [namespace, account] = [textOf(options, 'namespace'), textOf(options, 'serviceAccount')];
  if (namespace === undefined || account === undefined)
    throw wrongUse('--namespace and --service-account name the service account of the pods.');
  const issuer = textOf(options, 'issuer');
  if (issuer === undefined)
    throw wrongUse(
      '--issuer is the issuer of the cluster: kubectl get --raw /.well-known/openid-configuration prints it.',
    );
  const claims = { sub: { equals: `system:serviceaccount:${namespace}:${account}` } };
  return { issuer, claims, ruleKey: keyOf(`${namespace}-${account}`) };
}

function spiffe(options: PresetOptions): Preset {
  const [id, issuer] = [textOf(options, 'spiffeId'), textOf(options, 'issuer')];
  if (id === undefined || !/^spiffe:\/\/[^/]+\/.+/.test(id))
    throw wrongUse(
      '--spiffe-id is the identity of the workload, such as spiffe://acme.example/agents/release.',
    );
  if (issuer === undefined) throw wrongUse('--issuer is the jwt_issuer of the SPIRE server.');
  return { issuer, claims: { sub: { equals: id } }, ruleKey: keyOf(id.replace(/^spiffe:\/\/[^/]+\//, '')) };
}

/**
 * A value such as `refs/tags/*` is a prefix.
 */
function conditionOf(ref: string): Claims[string] {
  return ref.endsWith('*') ? { prefix: ref.slice(0, -1) } : { equals: ref };
}

/** A JWKS document in a file. @throws PlainError for any other file; identity checks the keys */
export async function readKeySet(path: string): Promise<NonNullable<identity.NewIdentityProvider['keySet']>> {
  try {
    const document = JSON.parse(await readFile(path, 'utf8')) as { keys?: unknown };
    if (Array.isArray(document.keys)) return document as NonNullable<identity.NewIdentityProvider['keySet']>;
  } catch (cause) {
    throw new PlainError(`${path} can't be read as JSON.`, { cause });
  }
  throw new PlainError(`${path} isn't a JWKS document: it has no list "keys".`);
}

function keyOf(text: string): string {
  const key = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '');
  return key
    .slice(0, 60)
    .replace(/[^a-z0-9]+$/, '')
    .padEnd(3, '0');
}

function textOf(options: PresetOptions, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function wrongUse(message: string): PlainError {
  return new PlainError(message, { exitCode: exitCodes.usage });
}
