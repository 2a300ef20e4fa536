import type { JsonObject } from '@baton/values/wire';

/** A failure of a declared action that has no equivalent refusal in the API. */
export class ActionFault extends Error {
  readonly code: string;
  readonly details: JsonObject;

  constructor(code: string, details: JsonObject) {
    super(code);
    this.code = code;
    this.details = details;
  }
}

export function failAction(code: 'invalid_work', details: JsonObject): never {
  throw new ActionFault(code, details);
}
