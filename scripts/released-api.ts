// node bin/run.mjs scripts/released-api.ts: writes scripts/released-api.json, the API that clients of the released
// version rely on. The step `released API` of `npm run check` compares the current API with it
// (docs/reference/versions.md#http-api).
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type OpenApi, type Surface, surfaceOf } from './api-surface.ts';

const root = dirname(import.meta.dirname);
const releasedFile = 'scripts/released-api.json';
const descriptions = ['openapi/coordination.json', 'openapi/identity.json'];
const daysDeprecatedMin = 90;
const msPerDay = 86_400_000;

/**
 * Compares the API with the released one.
 * @param today a date such as 2026-11-28; operations and fields that were deprecated 90 days before it
 * may be removed @returns one sentence per change that breaks a client of the released version
 */
export function brokenPromises(released: Surface, present: Surface, today: string): string[] {
  return Object.entries(released).flatMap(([name, was]) => {
    const isOver = (field: string) =>
      Date.parse(today) - Date.parse(was.deprecated?.[field] ?? today) >= daysDeprecatedMin * msPerDay;
    if (isOver('*')) return [];
    const is = present[name];
    if (is === undefined) return [`${name} was removed.`];
    const lost = (key: 'returns' | 'accepts') =>
      fieldsIn(was[key]).filter((field) => !fieldsIn(is[key]).includes(field) && !isOver(field));
    // A required field of a new, optional object breaks no client, because no existing client sends the object.
    const isNewRule = (field: string) =>
      !fieldsIn(was.requires).includes(field) &&
      (isWhole(field) || fieldsIn(was.accepts).includes(parentOf(field)));
    return [
      ...(was.id === is.id ? [] : [`operationId \`${was.id}\` is now \`${is.id}\``]),
      ...lost('returns').map((field) => `the response has lost \`${field}\``),
      ...lost('accepts').map((field) => `the request may not have \`${field}\` any more`),
      ...fieldsIn(is.requires)
        .filter(isNewRule)
        .map((field) => `the request must have \`${field}\``),
    ].map((change) => `${name}: ${change}.`);
  });
}

const fieldsIn = (text: string) => text.split(' ').filter((field) => field !== '');
/** Whether the field is the body or a parameter (`query:limit`), which belong to no object. */
const isWhole = (field: string) => field === 'body' || /^(path|query|header):/.test(field);
/** The object that contains a field, without the marks of a list or map: `a.b[].c` is in `a.b`, and `a` in `body`. */
const parentOf = (field: string) => field.replace(/\.?[^.]*$/, '').replace(/[[\]{}]+$/, '') || 'body';

/** Compares the committed descriptions with the committed surface of the release. */
export function checkReleasedApi(today = new Date().toISOString().slice(0, 10)): string[] {
  return descriptions.flatMap((file) => brokenPromises(releasedOf(file), presentOf(file), today));
}

interface Released {
  readonly version: string;
  readonly surfaces: Readonly<Record<string, Surface>>;
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(join(root, file), 'utf8'));
const releasedOf = (file: string): Surface => (readJson(releasedFile) as Released).surfaces[file] ?? {};
const presentOf = (file: string): Surface => surfaceOf(readJson(file) as OpenApi);

/** Deprecations are entered by hand, so they are kept. */
function writeReleased(): void {
  const { version } = readJson('package.json') as { version: string };
  const surfaces = descriptions.map((file) => {
    const released = releasedOf(file);
    const operations = Object.entries(presentOf(file)).map(([name, operation]) => {
      const { deprecated } = released[name] ?? {};
      return [name, { ...operation, ...(deprecated !== undefined && { deprecated }) }];
    });
    return [file, Object.fromEntries(operations)];
  });
  const released = { version, surfaces: Object.fromEntries(surfaces) };
  writeFileSync(join(root, releasedFile), `${JSON.stringify(released, undefined, 2)}\n`);
}

if (import.meta.filename === process.argv[1]) writeReleased();
