import { type Attribute, attributeNamed, type ResourceKind, type Schema, schemaOf } from './attributes.ts';
import { commonAttributes } from './schemas.ts';

/** An attribute name as a client writes it. */
export interface AttributePath {
  readonly urn: string | undefined;
  readonly name: string;
  readonly sub: string | undefined;
}

/** The target of a path: an attribute, of the core or of an extension, and possibly a part of it. */
export interface Located {
  readonly extension: Schema | undefined;
  readonly attribute: Attribute;
  readonly sub: Attribute | undefined;
}

/**
 * Finds the target of a path, ignoring case; undefined if the kind does not have it. Entra ID also sends attributes of
 * an extension without the extension's URN (`manager`), so a name that the core schema lacks is looked up in the
 * extensions.
 */
export function locate(kind: ResourceKind, path: AttributePath): Located | undefined {
  const owner = path.urn === undefined ? undefined : schemaOf(kind, path.urn);
  if (path.urn !== undefined && owner === undefined) return undefined;
  const owners = owner === undefined ? [kind.core, ...kind.extensions] : [owner];
  for (const schema of owners) {
    const extension = schema === kind.core ? undefined : schema;
    const attributes = extension?.attributes ?? [...commonAttributes, ...schema.attributes];
    const attribute = attributeNamed(attributes, path.name);
    if (attribute === undefined) continue;
    if (path.sub === undefined) return { extension, attribute, sub: undefined };
    const sub = attributeNamed(attribute.subAttributes ?? [], path.sub);
    return sub && { extension, attribute, sub };
  }
  return undefined;
}

/** `urn:…:User:name.familyName`; undefined for another form. */
export function parseAttributePath(word: string): AttributePath | undefined {
  const colon = word.lastIndexOf(':');
  const form = /^([A-Za-z$][A-Za-z0-9_$-]*)(?:\.([A-Za-z$][A-Za-z0-9_$-]*))?$/.exec(word.slice(colon + 1));
  if (form === null) return undefined;
  return { urn: colon < 0 ? undefined : word.slice(0, colon), name: form[1] as string, sub: form[2] };
}
