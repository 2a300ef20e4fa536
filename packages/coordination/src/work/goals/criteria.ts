import { checkSpecBytesMax } from '../../definitions/acceptance/acceptance.ts';
import { parseDocument, withoutNulls } from '../../definitions/acceptance/parsed-document.ts';
import { checkDocument, refuseSecretKeys, refuseSecretText } from '../../service/documents.ts';
import { fail } from '../errors.ts';
import { GoalCriterion } from './goal.ts';

/**
 * Parses the criteria of a goal. A spec is stored as given and never executed here.
 * @throws Refusal `invalid_acceptance`, `duplicate_check_key`, `payload_too_large`, `payload_too_deep`,
 * `secret_material_rejected`
 */
export function parseCriteria(sent: readonly unknown[]): GoalCriterion[] {
  const criteria = sent.map((item, index) => {
    const field = `criteria[${index}]`;
    const criterion = withoutNulls(parseDocument(GoalCriterion, item, field, 'invalid_acceptance'));
    refuseSecretText(criterion.description, `${field}.description`);
    if (criterion.spec != null) {
      checkDocument(criterion.spec, { field: `${field}.spec`, bytesMax: checkSpecBytesMax });
      refuseSecretKeys(criterion.spec, `${field}.spec`);
    }
    return criterion;
  });
  const keys = criteria.map(({ key }) => key);
  const repeated = keys.find((key, index) => keys.indexOf(key) !== index);
  if (repeated !== undefined) fail('duplicate_check_key', { key: repeated });
  return criteria;
}
