import { matrixTests } from '@baton/kernel/testing/matrix/matrix';
import { matrixSetup } from '../testing/matrix-setup.ts';

matrixTests(matrixSetup);
