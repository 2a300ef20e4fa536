import type { BatonClient } from '@baton/sdk';
import { visible } from '@baton/sdk/node';
import { exitCodes } from './error-text.ts';
import { PlainError } from './plain-error.ts';

/** The number of items that are read from a list without a search. */
const searchedMax = 2_000;
const pageMax = 200;
/** How many matches are listed. */
const listedMax = 10;

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** An object with a name. */
interface Named {
  readonly id: string;
  readonly names: readonly (string | null)[];
  /** Distinguishes the object from others with the same name. */
  readonly about: string;
}

/** The id of a principal: `me`, an id, its name or its e-mail address. @throws PlainError if none or several match */
export async function findPrincipalId(baton: BatonClient, text: string): Promise<string> {
  if (text === 'me') return (await baton.harness.getContext()).principal.id;
  return findId('principal', text, principalsOf(baton, text));
}

async function* principalsOf(baton: BatonClient, q: string): AsyncGenerator<Named> {
  for await (const { id, kind, status, displayName, profile } of baton.principals.list({ q, limit: pageMax }))
    yield { id, names: [displayName, profile.email], about: `${kind}, ${status}` };
}

/** The id of a workspace: an id, its slug or its name. @throws PlainError if none or several match */
export function findWorkspaceId(baton: BatonClient, text: string): Promise<string> {
  return findId('workspace', text, workspacesOf(baton));
}

async function* workspacesOf(baton: BatonClient): AsyncGenerator<Named> {
  for await (const { id, slug, name, status } of baton.workspaces.list({ limit: pageMax }))
    yield { id, names: [slug, name], about: `${slug}, ${status}` };
}

/** The id of a project: an id, or the slug or name of its workspace. @throws PlainError if none or several match */
export async function findProjectId(baton: BatonClient, text: string): Promise<string> {
  if (uuid.test(text)) return text;
  const workspaceId = await findWorkspaceId(baton, text);
  for await (const project of baton.projects.list({ workspaceId, limit: pageMax }))
    if (project.workspaceId === workspaceId) return project.id;
  throw new PlainError(`The workspace ${visible(text)} has no project.`);
}

/** The id of a task: an id, or a public id such as TASK-42. */
export async function findTaskId(baton: BatonClient, text: string): Promise<string> {
  return uuid.test(text) ? text : (await baton.tasks.get(text)).id;
}

/** The id of a role: an id, its slug or its name. @throws PlainError if none or several match */
export function findRoleId(baton: BatonClient, text: string): Promise<string> {
  return findId(
    'role',
    text,
    named(baton.roles.list({ limit: pageMax }), ({ id, slug, name, workspaceId }) => ({
      id,
      names: [slug, name],
      about: workspaceId === null ? slug : `${slug}, of workspace ${workspaceId}`,
    })),
  );
}

/** The key of an access role, from its key, its name or its id. @throws PlainError if none or several match */
export async function findAccessRoleKey(baton: BatonClient, text: string): Promise<string> {
  if (uuid.test(text)) return (await baton.accessRoles.get(text)).key;
  return findId(
    'access role',
    text,
    named(baton.accessRoles.list(), ({ key, name, isBuiltIn }) => ({
      id: key,
      names: [key, name],
      about: isBuiltIn ? 'built in' : 'custom',
    })),
  );
}

/** The id of a goal: an id or its title. @throws PlainError if none or several match */
export function findGoalId(baton: BatonClient, text: string): Promise<string> {
  return findId(
    'goal',
    text,
    named(baton.goals.list({ limit: pageMax }), ({ id, title, status }) => ({
      id,
      names: [title],
      about: status,
    })),
  );
}

/** The id of a rule: an id or its key. @throws PlainError if none matches */
export function findRuleId(baton: BatonClient, text: string): Promise<string> {
  return findId(
    'rule',
    text,
    named(baton.rules.list({ limit: pageMax }), ({ id, key, status }) => ({
      id,
      names: [key],
      about: status,
    })),
  );
}

/** The id of a task type: an id, or its key for its newest version. @throws PlainError if none matches */
export async function findTaskTypeId(baton: BatonClient, text: string): Promise<string> {
  if (uuid.test(text)) return text;
  const { items } = await baton.taskTypes.list({ key: text, limit: pageMax });
  const [newest] = [...items].sort((a, b) => b.version - a.version);
  if (newest !== undefined) return newest.id;
  throw new PlainError(
    `There is no task type ${visible(text)}; there are: ${(await taskTypeKeys(baton)).join(', ')}.`,
  );
}

/** The keys of the task types, for messages. */
export async function taskTypeKeys(baton: BatonClient): Promise<string[]> {
  const { items } = await baton.taskTypes.list({ status: 'active', limit: pageMax });
  return [...new Set(items.map(({ key }) => visible(key)))].sort();
}

async function* named<Item>(items: AsyncIterable<Item>, as: (item: Item) => Named): AsyncGenerator<Named> {
  for await (const item of items) yield as(item);
}

/**
 * A whole name takes precedence over a word in a name: `Ops` matches the workspace of that name, otherwise Ops Europe.
 * This doesn't apply to principals, who can choose their names: one named `Maria` would get the tasks for Maria Lopez.
 */
export async function findId(noun: string, text: string, items: AsyncIterable<Named>): Promise<string> {
  if (uuid.test(text)) return text;
  const wanted = text.trim().toLowerCase();
  const [whole, partial]: [Named[], Named[]] = [[], []];
  let searched = 0;
  let isCut = false;
  for await (const item of items) {
    isCut = searched === searchedMax;
    if (isCut) break;
    searched += 1;
    const names = item.names.flatMap((name) => name?.toLowerCase() ?? []);
    if (names.includes(wanted)) whole.push(item);
    else if (names.some((name) => name.split(/[\s@]+/).includes(wanted))) partial.push(item);
  }
  const isNameOfAnybody = noun === 'principal';
  const found = whole.length === 0 ? partial : isNameOfAnybody ? [...whole, ...partial] : whole;
  const [only] = found;
  // If the list was cut off, an unread item may have the same name.
  if (only !== undefined && found.length === 1 && !isCut) return only.id;
  throw new PlainError(refusal(noun, text, found, isCut), { exitCode: exitCodes.failed });
}

function refusal(noun: string, text: string, found: readonly Named[], isCut: boolean): string {
  const cut = isCut ? ` Only the first ${searchedMax} were searched: give the id.` : '';
  if (found.length === 0) return `There is no ${noun} ${visible(text)}.${cut}`;
  const more = found.length - listedMax;
  return [
    `${visible(text)} matches ${found.length === 1 ? 'this' : 'several'}; give the id of the ${noun}.${cut}`,
    ...found
      .slice(0, listedMax)
      .map(
        ({ id, names, about }) => `  ${id}  ${visible(names.filter(Boolean).join(', '))} (${visible(about)})`,
      ),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ].join('\n');
}
