import { nodesOf } from '@baton/values/json';
import type { Json, JsonObject } from '@baton/values/wire';
import { checkDocument, refuseSecretKeys, refuseSecretText } from '../../../service/documents.ts';
import { fail } from '../../errors.ts';
import { type Governance, parseGovernance } from './governance.ts';
import { isObject } from './merge.ts';

export const viewsMax = 50;
export const agentInstructionsBytesMax = 16_384;
/** Maximum number of setting keys in one list, and maximum length of each. */
const settingKeysMax = 1000;
const settingKeyCharactersMax = 200;

/**
 * The configuration in a template or a revision. An absent section sets nothing. See
 * docs/reference/projects.md#configuration-document.
 */
export interface ConfigDocument {
  readonly settings?: JsonObject;
  readonly views?: Json[];
  readonly governance?: Governance;
  readonly memory?: JsonObject;
  readonly inheritance?: Inheritance;
}

/** The settings that descendants inherit (`*` for all), and the settings that descendants can't set. */
export interface Inheritance {
  readonly inheritableSettings?: string[];
  readonly lockedSettings?: string[];
}

const sections = ['settings', 'views', 'governance', 'memory', 'inheritance'] as const;

/**
 * Parses a configuration and sorts the lists of its governance.
 * @param field the field's name in the details
 * @throws Refusal `invalid_document`, `payload_too_large`, `payload_too_deep`, `unknown_config_section`,
 * `invalid_config`, `governance_not_in_settings`, `instructions_too_large`, `secret_material_rejected`,
 * `unknown_governance_field`, `invalid_governance`
 */
export function parseConfig(sent: unknown, field: string): ConfigDocument {
  checkDocument(sent, { field });
  const unknown = Object.keys(sent).filter((name) => !sections.some((section) => section === name));
  if (unknown.length > 0)
    fail('unknown_config_section', { unknown: unknown.slice(0, 20).map(shown), known: sections });
  const { settings, views, governance, memory, inheritance } = sent;
  const objects = { settings, governance, memory, inheritance };
  for (const [name, section] of Object.entries(objects))
    if (section !== undefined && !isObject(section)) fail('invalid_config', { path: `/${name}` });
  if (views !== undefined) requireViews(views);
  if (settings !== undefined) checkSettings(settings as JsonObject, `${field}.settings`);
  if (views !== undefined) refuseSecretKeys(views, `${field}.views`);
  if (memory !== undefined) refuseSecretKeys(memory, `${field}.memory`);
  return {
    ...(settings !== undefined && { settings: settings as JsonObject }),
    ...(views !== undefined && { views: views as Json[] }),
    ...(governance !== undefined && { governance: parseGovernance(governance as JsonObject) }),
    ...(memory !== undefined && { memory: memory as JsonObject }),
    ...(inheritance !== undefined && { inheritance: parseInheritance(inheritance as JsonObject) }),
  };
}

function requireViews(views: Json): void {
  if (!Array.isArray(views) || views.length > viewsMax)
    fail('invalid_config', { path: '/views', maxItems: viewsMax });
}

/**
 * The settings of a profile, which override those of its configuration.
 * @throws Refusal `invalid_document`, `payload_too_large`, `payload_too_deep`, `governance_not_in_settings`,
 * `invalid_config`, `instructions_too_large`, `secret_material_rejected`
 */
export function parseSettings(sent: unknown): JsonObject {
  checkDocument(sent, { field: 'settings' });
  checkSettings(sent, 'settings');
  return sent;
}

function checkSettings(settings: JsonObject, field: string): void {
  if (Object.hasOwn(settings, 'governance')) fail('governance_not_in_settings', { field });
  if (Object.hasOwn(settings, 'agentInstructions')) checkInstructions(settings['agentInstructions']);
  refuseSecretKeys(settings, field);
  const texts = [...nodesOf(settings)].flatMap(({ value }) => (typeof value === 'string' ? [value] : []));
  refuseSecretText(texts.join('\n'), field);
}

function checkInstructions(text: Json | undefined): void {
  const path = '/settings/agentInstructions';
  if (typeof text !== 'string') return fail('invalid_config', { path });
  const actualBytes = Buffer.byteLength(text);
  if (actualBytes > agentInstructionsBytesMax)
    fail('instructions_too_large', { path, maxBytes: agentInstructionsBytesMax, actualBytes });
}

function parseInheritance(sent: JsonObject): Inheritance {
  const names = ['inheritableSettings', 'lockedSettings'];
  const unknown = Object.keys(sent).find((name) => !names.includes(name));
  if (unknown !== undefined) fail('invalid_config', { path: `/inheritance/${shown(unknown)}`, known: names });
  return Object.fromEntries(
    Object.entries(sent).map(([name, keys]) => [name, settingKeys(keys, `/inheritance/${name}`)]),
  );
}

function settingKeys(keys: Json, path: string): string[] {
  const isKey = (key: Json) =>
    typeof key === 'string' && key.length > 0 && key.length <= settingKeyCharactersMax;
  if (!Array.isArray(keys) || keys.length > settingKeysMax || !keys.every(isKey))
    return fail('invalid_config', { path });
  return [...new Set(keys as string[])].sort();
}

/** Truncates a name from the request so that it can be returned in the response. */
function shown(name: string): string {
  return name.slice(0, 100).toWellFormed();
}
