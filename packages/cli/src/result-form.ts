import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { projectRoot } from './connection.ts';
import { exitCodes } from './error-text.ts';
import { compileFilter } from './json-filter.ts';
import { PlainError } from './plain-error.ts';
import { namesIn, type ShowOptions } from './show.ts';

/**
 * The fields of a command's JSON. A command declares them, so that `--json FIELDS` is validated before anything is
 * sent: a command that has written something must report it.
 */
export interface ResultForm {
  /** Operations of the API whose response it prints; those of identity begin with `identity.`. */
  readonly operations: readonly string[];
  /** The fields that the command adds to the response, or all its fields if there is no operation. */
  readonly names: readonly string[];
}

/** The JSON is the response of an operation, such as `getTask`, with these additional fields. */
export const responseOf = (operation: string, ...names: readonly string[]): ResultForm => ({
  operations: [operation],
  names,
});

/** The JSON is an object with these fields, or a list of them. */
export const fieldsNamed = (...names: readonly string[]): ResultForm => ({ operations: [], names });

/** The command prints the service's response, whose fields aren't known beforehand. A missing field is null. */
export const anyResult = 'any';

export type DeclaredResult = ResultForm | typeof anyResult;

const declared = new WeakMap<Command, DeclaredResult>();

export function declareResult(command: Command, result: DeclaredResult): void {
  declared.set(command, result);
}

/** @returns undefined for a command without JSON */
export const declaredResult = (command: Command): DeclaredResult | undefined => declared.get(command);

/**
 * Validates the fields of `--json` and the filter of `--jq`. It runs before each command.
 * @throws PlainError with exit code 2
 */
export async function requireShowable(command: Command): Promise<void> {
  const { json, jq } = command.optsWithGlobals<ShowOptions>();
  const result = declared.get(command);
  if (typeof json === 'string' && result !== undefined && result !== anyResult)
    requireFields(namesIn(json), listFieldNames(result));
  if (jq !== undefined) await compileFilter(jq);
}

/** @throws PlainError for an unknown field */
export function requireFields(names: readonly string[], known: readonly string[]): void {
  const missing = names.find((name) => !known.includes(name));
  if (missing !== undefined)
    throw new PlainError(`There is no field ${missing}; valid fields: ${known.join(', ')}.`, {
      exitCode: exitCodes.usage,
    });
}

/** The fields of one item, if the response is a list. @throws Error for an unknown operation */
export function listFieldNames({ operations, names }: ResultForm): string[] {
  return [...new Set([...operations.flatMap(responseFields), ...names])];
}

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Operation {
  readonly operationId?: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

function responseFields(name: string): string[] {
  const [, service, operationId = name] = /^(identity)\.(.+)$/.exec(name) ?? [];
  const api = descriptionOf(service ?? 'coordination');
  const operation = Object.values(api.paths)
    .flatMap((methods) => Object.values(methods))
    .find((one) => one.operationId === operationId);
  if (operation === undefined) throw new Error(`the API has no operation ${name}`);
  const [status = ''] = Object.keys(operation.responses).filter((code) => code.startsWith('2'));
  const schema = operation.responses[status]?.content?.['application/json']?.schema ?? {};
  const fields = propertiesOf(api, schema);
  const items = fields.get('items') ?? resolved(api, schema).items;
  return [...(items === undefined ? fields : propertiesOf(api, resolved(api, items).items ?? items)).keys()];
}

/** Read from the disk only if fields are selected, because that takes 20 ms. */
function descriptionOf(service: string): Description {
  const path = join(projectRoot, 'openapi', `${service}.json`);
  return JSON.parse(readFileSync(path, 'utf8')) as Description;
}

function resolved(api: Description, schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : resolved(api, api.components.schemas[name] ?? {});
}

function propertiesOf(api: Description, schema: Schema): Map<string, Schema> {
  const { properties = {}, allOf = [], anyOf = [], oneOf = [] } = resolved(api, schema);
  const parts = [...allOf, ...anyOf, ...oneOf].flatMap((part) => [...propertiesOf(api, part)]);
  return new Map([...Object.entries(properties), ...parts]);
}
