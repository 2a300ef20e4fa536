import { refuseSecretText } from '../../service/documents.ts';
import { unsafeInText } from '../../service/durable-text/durable-text.ts';
import { fail } from '../errors.ts';
import {
  type ControlMessageAcknowledgement,
  type ControlOperation,
  controlOperations,
  type NewControlMessage,
} from './control-message.ts';

/** Validates the body alone, in the documented order of refusals (docs/reference/actions-and-usage.md#send). */

const cancels: readonly ControlOperation[] = ['request_cancel', 'force_cancel'];
const isBlank = (text: string | null | undefined) => (text ?? '').trim() === '';

/**
 * @throws Refusal `invalid_control_operation`, `invalid_control_message`, `unsafe_control_payload`,
 * `secret_material_rejected`
 */
export function checkNewMessage(message: NewControlMessage): ControlOperation {
  const operation = controlOperations.find((known) => known === message.operation);
  if (operation === undefined) return fail('invalid_control_operation', { known: controlOperations });
  if (isBlank(message.causalPosition)) fail('invalid_control_message', { field: 'causalPosition' });
  if (isBlank(message.directive) !== cancels.includes(operation))
    fail('invalid_control_message', { field: 'directive' });
  if (operation === 'force_cancel' && isBlank(message.reason))
    fail('invalid_control_message', { field: 'reason' });
  checkTexts({ ...message });
  return operation;
}

/** @throws Refusal `invalid_control_message`, `unsafe_control_payload`, `secret_material_rejected` */
export function checkAcknowledgement(given: ControlMessageAcknowledgement): void {
  if (given.status === 'applied' && isBlank(given.safeBoundary))
    fail('invalid_control_message', { field: 'safeBoundary' });
  checkTexts({ ...given });
}

/** @throws Refusal `unsafe_control_payload`, `secret_material_rejected` */
export function checkTexts(texts: {
  causalPosition?: string;
  directive?: string | null | undefined;
  reason?: string;
  safeBoundary?: string | null | undefined;
}): void {
  const { causalPosition, directive, reason, safeBoundary } = texts;
  const given = Object.entries({ causalPosition, directive, reason, safeBoundary });
  for (const [field, text] of given) {
    const unsafe = unsafeInText(text ?? '');
    if (unsafe !== undefined) fail('unsafe_control_payload', { field, ...unsafe });
  }
  for (const [field, text] of given) refuseSecretText(text ?? '', field);
}
