import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { exitCodes } from '../error-text.ts';
import { PlainError } from '../plain-error.ts';
import { anyResult } from '../result-form.ts';
import { show } from '../show.ts';

interface Options extends CommonOptions {
  readonly field: readonly string[];
  readonly rawField: readonly string[];
  readonly input?: string;
  readonly ifMatch?: string;
  readonly paginate?: boolean;
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const pagesMax = 1_000;

/** `baton api METHOD PATH`: any API call, with the same account as the other commands. */
export function addApi(program: Command, context: CommandContext): void {
  const command = program
    .command('api <method> <path>')
    .description(
      'call the API: {me} and {tenant} in the path are replaced by yours; paths below /iam are identity’s',
    );
  const list = (value: string, before: readonly string[]) => [...before, value];
  withCommonOptions(command, anyResult)
    .option(
      '-F, --field <name=value>',
      'a member of the body, or of the query of a GET; numbers, true, false, null and @file are converted; a[b]=1 and a[]=1 set nested values',
      list,
      [],
    )
    .option('-f, --raw-field <name=text>', 'the same, always as text', list, [])
    .option('--input <file>', 'the body from a JSON file; - is standard input')
    .option('--if-match <etag>', 'only if the object still has this version')
    .option('--paginate', 'all pages of a list, combined into one')
    .action((method: string, path: string, options: Options) => callApi(method, path, options, context));
}

async function callApi(
  given: string,
  givenPath: string,
  options: Options,
  context: CommandContext,
): Promise<void> {
  const method = given.toUpperCase();
  if (!methods.includes(method)) throw usageError(`${given} is not a method: ${methods.join(', ')}.`);
  const fields = { ...fieldsOf(options.field, typed), ...fieldsOf(options.rawField, String) };
  const input = options.input === undefined ? undefined : jsonOf(options.input);
  if (input !== undefined && Object.keys(fields).length > 0)
    throw usageError('Give the body either with --input or as fields, not both.');
  await asCaller(options, context, async (baton, { tenantId }) => {
    const path = await filledIn(givenPath, async (name) => {
      if (name === 'tenant' && tenantId !== undefined) return tenantId;
      const { principal, tenant } = await baton.harness.getContext();
      return name === 'me' ? principal.id : tenant.id;
    });
    const hasQuery = method === 'GET' || method === 'DELETE';
    const body = input ?? (hasQuery || Object.keys(fields).length === 0 ? undefined : fields);
    const query: Record<string, unknown> = hasQuery ? { ...fields } : {};
    const send = (more: Record<string, unknown> = {}) =>
      baton.request(method, path, {
        query: { ...query, ...more },
        ...(body !== undefined && { body }),
        ...(options.ifMatch !== undefined && { ifMatch: options.ifMatch }),
      });
    let answer = await send();
    if (options.paginate) answer = await allPages(answer, send);
    await show(context.output, options, answer, () => [
      answer === undefined ? '' : JSON.stringify(answer, undefined, 2),
    ]);
  });
}

interface Page {
  readonly items: readonly unknown[];
  readonly nextCursor?: string | null;
  readonly hasMore?: boolean;
}

async function allPages(
  first: unknown,
  send: (more: Record<string, unknown>) => Promise<unknown>,
): Promise<Page> {
  let page = first as Page;
  if (!Array.isArray(page?.items)) throw usageError('--paginate is for lists: this response has no items.');
  const items = [...page.items];
  for (let pages = 1; typeof page.nextCursor === 'string' && page.hasMore !== false; pages += 1) {
    if (pages === pagesMax) throw new PlainError(`There are more than ${pagesMax} pages: narrow the list.`);
    page = (await send({ cursor: page.nextCursor })) as Page;
    items.push(...page.items);
  }
  return { ...page, items };
}

/** `/tasks` is `/api/v1/tasks`; `{me}` and `{tenant}` become ids. */
async function filledIn(path: string, idOf: (name: string) => Promise<string>): Promise<string> {
  let filled = path.startsWith('/') ? path : `/${path}`;
  for (const name of ['me', 'tenant'])
    if (filled.includes(`{${name}}`)) filled = filled.replaceAll(`{${name}}`, await idOf(name));
  const unknown = /\{(\w+)\}/.exec(filled)?.[1];
  if (unknown !== undefined) throw usageError(`{${unknown}} is unknown: use {me} or {tenant}.`);
  if (/^\/(?:api|iam|health|healthz)(?:\/|$)/.test(filled)) return filled;
  return `/api/v1${filled}`;
}

/** The maximum number of levels in a name such as `a[b][c]=1`. */
const levelsMax = 20;

/** `a=1`, and nested values: `a[b]=1` is a member of an object, `a[]=1` one more item in a list. */
function fieldsOf(given: readonly string[], read: (value: string) => unknown): Record<string, unknown> {
  const fields = new Map<string, unknown>();
  for (const field of given) {
    const at = field.indexOf('=');
    const [, first = '', rest = ''] = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(field.slice(0, at)) ?? [];
    const path = [...rest.matchAll(/\[([^[\]]*)\]/g)].map(([, name = '']) => name);
    if (at < 1 || first === '' || path.length > levelsMax)
      throw usageError(`${field} is not a field: name=value, name[member]=value or name[]=value.`);
    fields.set(first, withMember(fields.get(first), path, read(field.slice(at + 1)), field));
  }
  return Object.fromEntries(fields);
}

function withMember(
  before: unknown,
  [name, ...rest]: readonly string[],
  value: unknown,
  field: string,
): unknown {
  if (name === undefined) return value;
  if (name === '') {
    if (before !== undefined && !Array.isArray(before)) throw usageError(`${field}: that is not a list.`);
    return [...((before ?? []) as unknown[]), withMember(undefined, rest, value, field)];
  }
  if (before !== undefined && (typeof before !== 'object' || before === null || Array.isArray(before)))
    throw usageError(`${field}: that is not an object.`);
  const members = new Map(Object.entries((before ?? {}) as Record<string, unknown>));
  members.set(name, withMember(members.get(name), rest, value, field));
  return Object.fromEntries(members);
}

function typed(value: string): unknown {
  if (value.startsWith('@')) return readText(value.slice(1));
  if (['true', 'false', 'null'].includes(value) || /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(value))
    return JSON.parse(value) as unknown;
  return value;
}

function jsonOf(file: string): unknown {
  try {
    return JSON.parse(readText(file)) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) throw usageError(`${file} is not JSON: ${error.message}.`);
    throw error;
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new PlainError(`${file} can't be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

const usageError = (message: string) => new PlainError(message, { exitCode: exitCodes.usage });
