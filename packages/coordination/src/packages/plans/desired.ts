import { z } from 'zod';
import { Refusal } from '@baton/kernel/http/refusal';
import { inSlices } from '@baton/kernel/limits/slices';
import { CalendarSpec } from '@baton/process-engine/calendars/calendar';
import { pointer, reported } from '@baton/process-engine/language/problems';
import { readDefinition } from '@baton/process-engine/language/read-definition';
import type { JsonObject } from '@baton/values/wire';
import { NewTaskType } from '../../definitions/task-types/task-type.ts';
import { CalendarRequest } from '../../organisation/calendars/calendar.ts';
import { parseCalendarSpec } from '../../organisation/calendars/calendar-spec.ts';
import { ProcessDefinitionRequest } from '../../processes/definitions/definition.ts';
import { AgentRequest } from '../../registry/agents/agent.ts';
import { AgentSpec } from '../../registry/agents/agent-spec.ts';
import { RuleRequest } from '../../rules/catalog/rule.ts';
import { canonicalHash } from '../../service/durable-text/canonical.ts';
import { errors } from '../errors.ts';
import {
  type ObjectKind,
  objectKinds,
  type PackageDocument,
  type PackageProblem,
} from '../source/package-source.ts';
import { checkView } from '../views/publication/spec-checks.ts';
import { ViewKey } from '../views/view.ts';
import type { Desired } from './changes.ts';

const problemsOfDocumentMax = 50;

type Finding = Pick<PackageProblem, 'code' | 'severity' | 'path' | 'message'>;

/** Converts a document of a kind to the input of its writer; throws a Refusal or a schema error. */
const readers: {
  readonly [Kind in Exclude<ObjectKind, 'Process' | 'View'>]: (spec: JsonObject) => object;
} = {
  TaskType: (spec) => NewTaskType.omit({ key: true }).parse(spec),
  Agent: (spec) => AgentSpec.parse(spec),
  Calendar: (spec) => parseCalendarSpec(CalendarSpec.parse(spec)),
  WorkRule: (spec) => RuleRequest.omit({ key: true }).parse(spec),
};

const keys: { readonly [Kind in ObjectKind]: z.ZodType } = {
  TaskType: NewTaskType.shape.key,
  Agent: AgentRequest.shape.key,
  Calendar: CalendarRequest.shape.key,
  Process: ProcessDefinitionRequest.shape.key,
  WorkRule: RuleRequest.shape.key,
  View: ViewKey,
};

export interface ReadDocuments {
  readonly desired: Desired[];
  /** Names of objects whose documents have problems. */
  readonly kept: Set<string>;
  readonly problems: PackageProblem[];
}

/**
 * The objects that the documents of a package describe.
 * @param workspaceId the default workspace for processes and rules
 */
export function readDocuments(
  documents: readonly PackageDocument[],
  workspaceId: string | null,
): Promise<ReadDocuments> {
  return inSlices(readingDocuments(documents, workspaceId));
}

function* readingDocuments(
  documents: readonly PackageDocument[],
  workspaceId: string | null,
): Generator<void, ReadDocuments> {
  const read: ReadDocuments = { desired: [], kept: new Set(), problems: [] };
  for (const document of documents) {
    const { kind, key, file } = document;
    if (!isObjectKind(kind)) continue;
    const found = keyProblems(kind, key);
    let spec: JsonObject | undefined;
    if (found.length === 0)
      try {
        spec = yield* readingSpec(kind, document.spec, workspaceId, found);
      } catch (error) {
        found.push(...describeRefusal(error));
      }
    if (spec === undefined || found.length > 0) read.kept.add(`${kind}/${key}`);
    else {
      const hash = canonicalHash(spec, { fractions: 'allowed' });
      read.desired.push({ kind, key, file, spec, hash });
    }
    read.problems.push(...found.slice(0, problemsOfDocumentMax).map((one) => ({ ...one, file })));
    yield;
  }
  return read;
}

function isObjectKind(kind: string): kind is ObjectKind {
  return objectKinds.some((known) => known === kind);
}

function keyProblems(kind: ObjectKind, key: string): Finding[] {
  const parsed = keys[kind].safeParse(key);
  return parsed.success ? [] : [told('invalid_document', '/key', 'is not a valid key of this kind')];
}

function told(code: string, path: string, message: string): Finding {
  return { code, severity: 'error', path: cut(path), message: cut(message) };
}

const textCharactersMax = 300;
const cut = (text: string): string => text.slice(0, textCharactersMax).toWellFormed();

function* readingSpec(
  kind: ObjectKind,
  sent: JsonObject,
  workspaceId: string | null,
  found: Finding[],
): Generator<void, JsonObject | undefined> {
  if (kind === 'View') {
    const { spec, problems } = checkView(sent);
    found.push(...problems.map(({ code, path, message }) => told(code, `/spec${path}`, message)));
    return spec && plain(spec);
  }
  if (kind === 'Process') {
    const { spec, problems } = yield* readDefinition(sent);
    // Unresolved variables were reported when the files were read.
    const own = reported(problems).filter(({ code }) => code !== 'unresolved_install_variable');
    found.push(...own.map((one) => ({ ...one, path: `/spec${one.path}` })));
    return spec && placed(spec as unknown as JsonObject, workspaceId);
  }
  const spec = plain(readers[kind](sent));
  return kind === 'WorkRule' ? placed(spec, workspaceId) : spec;
}

/** Removes undefined members. */
function plain(document: object): JsonObject {
  return JSON.parse(JSON.stringify(document)) as JsonObject;
}

function placed(spec: JsonObject, workspaceId: string | null): JsonObject {
  return spec['workspaceId'] == null && workspaceId !== null ? { ...spec, workspaceId } : spec;
}

/** A writer's refusal as problems of a document. @throws errors other than refusals */
export function describeRefusal(error: unknown): Finding[] {
  if (error instanceof z.ZodError)
    return error.issues.map(({ path, message }) =>
      told('invalid_document', `/spec${pointer(...path.map(String))}`, message),
    );
  if (!(error instanceof Refusal)) throw error;
  const { field, path, message } = error.details;
  const said = typeof message === 'string' ? message : whenOf(error.code);
  return [told(error.code, `/spec${pointerOf(field)}${pointerOf(path)}`, said)];
}

/** A location in the details of a refusal, as a pointer: `spec.years.0` or `/years/0`. */
function pointerOf(place: unknown): string {
  if (typeof place !== 'string' || place.startsWith('/')) return typeof place === 'string' ? place : '';
  return pointer(
    ...place
      .replace(/^spec(\.|$)/, '')
      .split('.')
      .filter((part) => part !== ''),
  );
}

function whenOf(code: string): string {
  return Object.hasOwn(errors, code) ? errors[code as keyof typeof errors].when : code;
}
