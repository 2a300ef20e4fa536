import type { JsonObject } from '@baton/values/wire';

/** Why a declared action could not be done, where no call of the API would be refused for it. */
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
