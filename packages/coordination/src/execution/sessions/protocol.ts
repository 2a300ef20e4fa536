import { fail } from '../errors.ts';

/**
 * The protocol between a harness and this service (docs/reference/sessions.md#harness-protocol). Responses always have
 * the format of version 2.
 */
export const harnessProtocol = { name: 'control-harness', supportedVersions: ['1', '2'] };

const knownCapabilities: ReadonlySet<string> = new Set([
  'events.realtime',
  'tasks.interactive',
  'artifacts.publish',
  'approvals.interactive',
  'resume',
  'checkpoints',
  'active_turn_control.v1',
  'child_run_handle.v1',
  'skills.protocol.mcp',
  'skills.protocol.http',
  'skills.protocol.local',
  'skills.protocol.opencode',
  'skills.protocol.custom',
]);
const harnessTypeForm = /^[a-z0-9][a-z0-9._-]{0,99}$/;
const shownCharactersMax = 100;

/** @throws Refusal `unsupported_protocol_version`, `invalid_harness` */
export function checkHarness({ type, protocolVersion }: { type: string; protocolVersion: string }): void {
  const supported = harnessProtocol.supportedVersions;
  if (!supported.includes(protocolVersion)) {
    const requested = protocolVersion.slice(0, shownCharactersMax);
    fail('unsupported_protocol_version', { requested, supported });
  }
  if (!harnessTypeForm.test(type)) fail('invalid_harness');
}

/**
 * The known capabilities in the given order, without duplicates. Unknown ones are dropped: a newer harness may list
 * them.
 */
export function knownCapabilitiesOf(named: readonly string[]): string[] {
  return [...new Set(named)].filter((name) => knownCapabilities.has(name));
}
