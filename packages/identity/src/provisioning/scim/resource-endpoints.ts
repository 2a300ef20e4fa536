import type { z } from 'zod';
import { listQuery } from './filter/list-page.ts';
import { ScimListResponse } from './protocol/scim-answer.ts';
import {
  idParam,
  listErrors,
  ScimPatch,
  ScimSearch,
  scim,
  scimWrite,
  searchExample,
} from './protocol/scim-endpoint.ts';
import { selectionQuery } from './protocol/selection.ts';

/**
 * The declarations that the endpoints of users and of groups share; each kind adds its path, descriptions, events and
 * handler.
 */

export const listResources = {
  ...scim,
  method: 'GET',
  query: listQuery,
  returns: { 200: ScimListResponse },
  errors: listErrors,
} as const;

export const searchResources = {
  ...scim,
  method: 'POST',
  body: ScimSearch,
  returns: { 200: ScimListResponse },
  errors: listErrors,
  transaction: 'none',
  example: searchExample,
} as const;

export function createResource<Form extends z.ZodType>(body: Form, example: object) {
  return {
    ...scimWrite,
    method: 'POST',
    query: selectionQuery,
    body,
    returns: { 201: body },
    example,
  } as const;
}

export function readResource<Form extends z.ZodType>(form: Form) {
  return {
    ...scim,
    method: 'GET',
    params: idParam,
    query: selectionQuery,
    returns: { 200: form, 304: null },
  } as const;
}

export function replaceResource<Form extends z.ZodType>(body: Form, example: object) {
  return { ...changeResource, method: 'PUT', body, returns: { 200: body }, example } as const;
}

const changeResource = { ...scimWrite, params: idParam, query: selectionQuery } as const;

export const patchResource = { ...changeResource, method: 'PATCH', body: ScimPatch } as const;

export const deleteResource = {
  ...scimWrite,
  method: 'DELETE',
  params: idParam,
  returns: { 204: null },
} as const;
