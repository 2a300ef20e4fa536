import { Refusal } from '@baton/kernel/http/refusal';
import { largeBodies } from '@baton/kernel/limits/large-bodies';
import { checkDocument, documentNodesMax } from '../../service/documents.ts';
import { type ErrorCode, fail } from '../errors.ts';

/**
 * Builds the JSON of requests to the memory service in steps: serializing 8 MiB at once would block all other requests.
 */

/** How many characters are written between two yields, which takes about 2 ms. */
const stepCharacters = 131_072;

/**
 * A request as JSON. The members of `lists` are written one after another; each is validated first.
 * @throws errors of `check`, while the steps run
 */
export function* serializeRequest(
  fields: object,
  lists: Readonly<Record<string, readonly object[]>>,
  check: (item: object, field: string) => void,
): Generator<void, string> {
  let text = JSON.stringify(fields).slice(0, -1);
  let lead = text === '{' ? '' : ',';
  let stepEnd = stepCharacters;
  for (const [name, list] of Object.entries(lists)) {
    text += `${lead}${JSON.stringify(name)}:[`;
    lead = ',';
    for (const [index, item] of list.entries()) {
      check(item, `${name}[${index}]`);
      text += `${index === 0 ? '' : ','}${JSON.stringify(item)}`;
      if (text.length < stepEnd) continue;
      stepEnd = text.length + stepCharacters;
      yield;
    }
    text += ']';
  }
  return `${text}}`;
}

/** Runs the steps; a single step doesn't yield. @throws errors of a step */
export function runInSteps<T>(tenantId: string, steps: Iterator<void, T>): T | Promise<T> {
  const first = steps.next();
  return first.done === true ? first.value : largeBodies.read(tenantId, steps);
}

/**
 * Refuses a free-form document that exceeds the limits for all documents.
 * @throws Refusal `code` with `field` and the bound
 */
export function requireFit(document: object, field: string, code: ErrorCode): void {
  if (isCrowded(document)) fail(code, { field, maxNodes: documentNodesMax });
  try {
    checkDocument(document, { field });
  } catch (error) {
    if (error instanceof Refusal) fail(code, error.details);
    throw error;
  }
}

/** Whether a document has too many values. Stops at the limit, because measuring 240,000 takes 0.3 s. */
function isCrowded(document: object): boolean {
  let seen = 0;
  const pending: unknown[] = [document];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    seen += 1;
    if (typeof value !== 'object' || value === null) continue;
    const inside = Object.values(value);
    if (seen + inside.length > documentNodesMax) return true;
    for (const item of inside) pending.push(item);
  }
  return false;
}
