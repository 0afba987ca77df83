// The second half of the sequences (model-suite.ts): two files keep two cores busy.

import { describeModel } from "./model-suite.ts";

describeModel(2);
