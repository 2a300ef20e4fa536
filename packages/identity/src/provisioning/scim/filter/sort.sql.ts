import { type AttributePath, locate } from '../protocol/attribute-path.ts';
import { attributeNamed } from '../protocol/attributes.ts';
import { elementsOf } from './elements.sql.ts';
import { collateText, comparedAttribute, expressionOf, isUuid } from './expression.sql.ts';
import type { Scope } from './sql-scope.ts';

/**
 * The expression to sort by. A list sorts by its primary element, or otherwise by its first one (RFC 7644, section
 * 3.4.2.3).
 * @returns undefined for a name that isn't an attribute, or that can't be compared
 */
export function sortExpression(scope: Scope, path: AttributePath): string | undefined {
  const located = locate(scope.kind, path);
  if (located === undefined || located.attribute.returned === 'never') return undefined;
  const { attribute } = located;
  const leaf = comparedAttribute(located);
  if (leaf === undefined) return undefined;
  const sub = leaf === attribute ? undefined : leaf;
  if (!attribute.multiValued) {
    const expression = expressionOf(scope, { ...located, sub });
    // A uuid needs no conversion, because it sorts like its text.
    return isUuid(expression) ? expression : collateText(leaf, expression);
  }
  const elements = elementsOf(scope, attribute);
  const primary = attributeNamed(attribute.subAttributes ?? [], 'primary');
  const order = primary === undefined ? '1' : `coalesce(${elements.part(primary)}, false) desc, e.place`;
  return `(select ${collateText(leaf, elements.part(sub))} from ${elements.from} where ${elements.of} order by ${order} limit 1)`;
}
