import type { JsonObject } from '@baton/values/wire';
import { checkDocument, refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import { fail } from '../errors.ts';
import type { Assertion, NewObservation, SentAssertion } from './observation.ts';

const contentCharactersMax = 65_536;
const dataKeysMax = 100;
const assertionsMax = 200;
const assertionBytesMax = 65_536;
const entityKeyForm = /^(?=.{3,256}$)[a-z][a-z0-9._-]*:\S+$/;
const instantForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i;

/** The optional fields of an observation except its references, each only if present. */
export interface ObservedFacts {
  kind: string;
  content: string;
  observedAt?: string;
  source?: string;
  dedupKey?: string;
  externalRef?: { system: string; id: string; url?: string };
  assertions?: Assertion[];
  data?: JsonObject;
}

/**
 * Validates an observation without the database. See docs/reference/memory.md#observations.
 * @throws Refusal `observation_invalid` with `field`; `invalid_document`, `payload_too_large`, `payload_too_deep`,
 * `secret_material_rejected`
 */
export function parseFacts(request: NewObservation): ObservedFacts {
  const { kind, content, source, dedupKey, externalRef } = request;
  require('kind', /^[a-z0-9][a-z0-9._-]{0,127}$/.test(kind));
  require('content', content.trim() !== '' && content.length <= contentCharactersMax);
  const data = request.data == null ? undefined : parseData(request.data);
  const assertions = parseAssertions(request.assertions);
  require('source', source == null || /^[a-z0-9][a-z0-9._:/-]{0,127}$/.test(source));
  require('dedupKey', dedupKey == null || isWithin(dedupKey, 512));
  const observedAt = request.observedAt == null ? undefined : parseInstant(request.observedAt);
  const ref = externalRef == null ? undefined : parseRef(externalRef);
  require('source', source != null || (dedupKey == null && ref === undefined));
  const facts: ObservedFacts = {
    kind,
    content,
    ...(observedAt !== undefined && { observedAt }),
    ...(source != null && { source }),
    ...(dedupKey != null && { dedupKey }),
    ...(ref !== undefined && { externalRef: ref }),
    ...(assertions.length > 0 && { assertions }),
    ...(data !== undefined && { data }),
  };
  refuseSecrets(facts);
  return facts;
}

function require(field: string, holds: boolean): void {
  if (!holds) fail('observation_invalid', { field });
}

/** Counted in UTF-16 code units, as in JavaScript. */
function isWithin(text: string, charactersMax: number): boolean {
  return text.trim() !== '' && text.length <= charactersMax;
}

function parseData(sent: unknown): JsonObject {
  checkDocument(sent, { field: 'data' });
  require('data', Object.keys(sent).length <= dataKeysMax);
  return sent;
}

function parseRef({ system, id, url }: NonNullable<NewObservation['externalRef']>) {
  require('externalRef.system', isWithin(system, 128));
  require('externalRef.id', isWithin(id, 512));
  require('externalRef.url', url == null || isWithin(url, 2048));
  return { system, id, ...(url != null && { url }) };
}

function parseInstant(sent: string): string {
  const time = instantForm.test(sent) ? Date.parse(sent) : Number.NaN;
  const text = Number.isNaN(time) ? '' : new Date(time).toISOString();
  // An offset can move an instant out of the range of four-digit years.
  require('observedAt', /^(?!0000)\d{4}-/.test(text));
  return text;
}

function parseAssertions(sent: readonly SentAssertion[]): Assertion[] {
  require('assertions', sent.length <= assertionsMax);
  require('assertions', Buffer.byteLength(JSON.stringify(sent)) <= assertionBytesMax);
  return sent.map((assertion, index) => {
    const at = `assertions[${index}]`;
    if (!isKnown(assertion)) return fail('observation_invalid', { field: `${at}.assert` });
    if (assertion.assert === 'entity') checkEntity(assertion.entity, `${at}.entity`);
    else checkFact(assertion.fact, `${at}.fact`);
    return assertion;
  });
}

function isKnown(assertion: SentAssertion): assertion is Assertion {
  return assertion.assert === 'entity' || assertion.assert === 'fact';
}

function checkEntity(
  { key, type, properties }: (Assertion & { assert: 'entity' })['entity'],
  at: string,
): void {
  require(`${at}.key`, entityKeyForm.test(key));
  require(`${at}.type`, type.trim() !== '');
  if (properties !== undefined) checkDocument(properties, { field: `${at}.properties` });
}

function checkFact(
  { subject, predicate, confidence }: (Assertion & { assert: 'fact' })['fact'],
  at: string,
): void {
  require(`${at}.subject`, entityKeyForm.test(subject));
  require(`${at}.predicate`, predicate.trim() !== '');
  require(`${at}.confidence`, confidence == null || (confidence >= 0 && confidence <= 1));
}

/** Content is checked like comments; documents are checked for the names of their keys and all their text. */
function refuseSecrets({ content, data, assertions, externalRef }: ObservedFacts): void {
  refuseSecretText(content, 'content');
  for (const [field, document] of Object.entries({ data, assertions, externalRef }))
    if (document !== undefined) {
      refuseSecretKeys(document as JsonObject, field);
      refuseSecretText(JSON.stringify(document), field);
    }
}
