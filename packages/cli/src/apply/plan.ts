import { BatonError } from '@baton/sdk';
import { describeError } from '../error-text.ts';
import { PlainError } from '../plain-error.ts';
import type { Change, Planning } from './change.ts';
import { type Declared, kinds } from './documents.ts';
import { isOfCatalogue, planCatalogue } from './kinds/catalogue.ts';
import { planNamed } from './kinds/named.ts';
import { planPrincipal } from './kinds/principals.ts';
import { planProjectTemplate } from './kinds/project-templates.ts';
import { planProject, planWorkspace } from './kinds/workspaces.ts';

/**
 * Compares every document with the current state; writes nothing. Adds invalid documents to the problems.
 * @returns in the order of their creation
 * @throws PlainError, for example with the read permission that the caller lacks
 */
export async function planAll(planning: Planning): Promise<Change[]> {
  const { declared } = planning;
  const changes: Change[] = [];
  for (const document of declared.filter((one) => !isOfCatalogue(one)))
    changes.push(await named(`${document.kind}s can't be read`, () => planOne(planning, document)));
  changes.push(
    ...(await named("The plan can't be made", () => planCatalogue(planning, declared.filter(isOfCatalogue)))),
  );
  return changes.sort((a, b) => compared(a.document, b.document));
}

/** Sorts by kind; a workspace follows its parent. */
function compared(a: Declared, b: Declared): number {
  const byKind = kinds.indexOf(a.kind) - kinds.indexOf(b.kind);
  if (byKind !== 0 || a.kind !== 'Workspace') return byKind;
  return a.key.split('/').length - b.key.split('/').length;
}

function planOne(planning: Planning, document: Declared): Promise<Change> {
  if (document.kind === 'Principal') return planPrincipal(planning, document);
  if (document.kind === 'Workspace') return planWorkspace(planning, document);
  if (document.kind === 'Project') return planProject(planning, document);
  if (document.kind === 'ProjectTemplate') return planProjectTemplate(planning, document);
  return planNamed(planning, document);
}

async function named<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BatonError) || error.status !== 403) throw error;
    throw new PlainError(`${what}: ${describeRejection(error)}`, { cause: error });
  }
}

/** The service's error, with the permissions that the request requires. */
export function describeRejection(error: BatonError): string {
  const { required, missing, field, path } = error.details;
  const rights = [required, missing].flat().filter((one) => typeof one === 'string');
  const place = [field, path].find((one) => typeof one === 'string');
  return [
    describeError(error),
    ...(rights.length > 0 ? [`It requires ${rights.join(', ')}.`] : []),
    ...(place === undefined ? [] : [`It concerns ${String(place)}.`]),
  ].join('\n');
}
