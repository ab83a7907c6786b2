"""One small model per layer and setting, unlike sizes on every axis: name -> a function that builds it in Keras.

The tables are settings, not expectations: Keras itself answers what each model computes.
"""
from itertools import product

IMAGE, FREE_IMAGE, SERIES, FREE_SERIES, VOLUME, VECTOR = (9, 7, 6), (None, None, 6), (11, 6), (None, 6), (5, 6, 7, 4), (10,)


def cases(keras) -> dict:
    L, ops = keras.layers, keras.ops
    found = {}

    def chain(name, shape, *makers):
        found[name] = lambda: keras.Sequential([keras.Input(shape), *(make() for make in makers)])

    def network(name, shape, build):
        def made():
            x = keras.Input(shape)
            return keras.Model(x, build(x))

        found[name] = made

    def layer(name, shape, kind, *arguments, **options):
        chain(name, shape, lambda: getattr(L, kind)(*arguments, **options))

    for kernel, stride, padding in product((1, 2, 3, 4, 5), (1, 2, 3), ("same", "valid")):
        tag = f"{kernel}_{stride}_{padding}"
        window, how = (kernel, max(1, kernel - 1)), dict(strides=stride, padding=padding)
        for shape, free in ((IMAGE, ""), (FREE_IMAGE, "free_")):
            layer(f"{free}conv2d_{tag}", shape, "Conv2D", 5, window, **how)
            layer(f"{free}transpose2d_{tag}", shape, "Conv2DTranspose", 5, window, activation="relu", **how)
            layer(f"{free}max2d_{tag}", shape, "MaxPooling2D", window, **how)
            layer(f"{free}average2d_{tag}", shape, "AveragePooling2D", window, **how)
        layer(f"conv1d_{tag}", FREE_SERIES, "Conv1D", 5, kernel, **how)
        layer(f"transpose1d_{tag}", FREE_SERIES, "Conv1DTranspose", 5, kernel, **how)
        layer(f"average1d_{tag}", FREE_SERIES, "AveragePooling1D", kernel, **how)
        layer(f"depthwise1d_{tag}", FREE_SERIES, "DepthwiseConv1D", kernel, depth_multiplier=2, **how)
        layer(f"depthwise2d_{tag}", IMAGE, "DepthwiseConv2D", kernel, depth_multiplier=2, activation="tanh", **how)
        layer(f"separable2d_{tag}", FREE_IMAGE, "SeparableConv2D", 4, kernel, depth_multiplier=2, **how)
        deep = dict(strides=(stride, 1, 2), padding=padding)
        layer(f"conv3d_{tag}", VOLUME, "Conv3D", 5, (kernel, 1, 2), **deep)
        layer(f"transpose3d_{tag}", VOLUME, "Conv3DTranspose", 5, (kernel, 1, 2), **deep)
        layer(f"max3d_{tag}", VOLUME, "MaxPooling3D", (kernel, 2, 1), **deep)
        layer(f"average3d_{tag}", VOLUME, "AveragePooling3D", (kernel, 2, 1), **deep)
    for kernel, padding in product((3, 5), ("same", "valid")):
        layer(f"output_padding_{kernel}_{padding}", IMAGE, "Conv2DTranspose", 3, kernel, strides=2, padding=padding, output_padding=1)
    for rate, padding in product((1, 2, 3), ("same", "valid", "causal")):
        layer(f"dilated1d_{rate}_{padding}", FREE_SERIES, "Conv1D", 4, 3, dilation_rate=rate, padding=padding, groups=2)
        if padding != "causal":
            layer(f"dilated2d_{rate}_{padding}", FREE_IMAGE, "Conv2D", 4, (3, 2), dilation_rate=(rate, 1), padding=padding)

    for word in (
        "elu exponential gelu hard_sigmoid hard_silu hard_tanh leaky_relu linear log_sigmoid log_softmax mish relu relu6 selu "
        "sigmoid silu softmax softplus softsign sparse_plus sparse_sigmoid squareplus tanh tanh_shrink celu glu hard_shrink soft_shrink"
    ).split():
        chain(f"activation_{word}", IMAGE, lambda: L.Conv2D(6, 2), lambda word=word: L.Activation(word))
        chain(f"dense_{word}", VECTOR, lambda: L.Dense(8), lambda word=word: L.Activation(word))
    layer("relu_all", IMAGE, "ReLU", max_value=2.0, negative_slope=0.1, threshold=0.3)
    layer("elu_alpha", IMAGE, "ELU", alpha=0.3)
    layer("leaky", IMAGE, "LeakyReLU", negative_slope=0.17)
    for shape, axes in ((IMAGE, None), (FREE_IMAGE, [1, 2]), (IMAGE, [1]), (VECTOR, None)):
        layer(f"prelu_{len(shape)}_{axes}", shape, "PReLU", alpha_initializer="uniform", shared_axes=axes)

    # A class of keras.applications, which only its own package has.
    from keras.src.applications.convnext import LayerScale

    chain("layer_scale", IMAGE, lambda: L.Conv2D(5, 2), lambda: LayerScale(0.3, 5))
    for axis in (1, 2, 3, -1):
        chain(f"batch_norm_{axis}", IMAGE, lambda: L.Conv2D(5, 2), lambda axis=axis: L.BatchNormalization(axis=axis, epsilon=1e-2))
    for axes in (1, 2, 3, -1, [1, 2], [2, 3], [1, 2, 3]):
        layer(f"softmax_{axes}", IMAGE, "Softmax", axis=axes)
        layer(f"unit_norm_{axes}", IMAGE, "UnitNormalization", axis=axes)
        chain(f"layer_norm_{axes}", IMAGE, lambda: L.Conv2D(5, 2), lambda axes=axes: L.LayerNormalization(axis=axes))
    layer("layer_norm_bare", IMAGE, "LayerNormalization", scale=False, center=False)
    for groups in (1, 2, 3, 6, -1):
        layer(f"group_norm_{groups}", IMAGE, "GroupNormalization", groups=groups)
    layer("group_norm_rows", IMAGE, "GroupNormalization", groups=3, axis=1)
    layer("rms_norm", IMAGE, "RMSNormalization")
    layer("rms_norm_last_two", IMAGE, "RMSNormalization", axis=[2, 3])
    # Keras lays the scale along the last axes, whichever are normalised: cubes alone have a scale for others.
    for axes in (1, 2, [1, 2], [-1, 1], [1, 3], [2, 3, 1]):
        layer(f"rms_norm_{axes}", (4, 4, 4), "RMSNormalization", axis=axes)
    layer("normalization", IMAGE, "Normalization", mean=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], variance=[2.0, 1, 3, 1, 2, 4])
    layer("normalization_rows", IMAGE, "Normalization", axis=1, mean=list(range(9)), variance=list(range(1, 10)))
    layer("normalization_inverse", IMAGE, "Normalization", axis=None, mean=0.1, variance=2.0, invert=True)
    layer("rescaling", IMAGE, "Rescaling", 1 / 127.5, offset=-1)
    layer("rescaling_channels", IMAGE, "Rescaling", [1.0, 2, 3, 4, 5, 6], offset=[6.0, 5, 4, 3, 2, 1])

    for word in ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"):
        layer(f"up_{word}", IMAGE, "UpSampling2D", (2, 3), interpolation=word)
        layer(f"resizing_{word}", IMAGE, "Resizing", 5, 12, interpolation=word)
    for word in ("nearest", "bilinear"):
        layer(f"free_up_{word}", FREE_IMAGE, "UpSampling2D", (2, 3), interpolation=word)
        layer(f"free_resizing_{word}", FREE_IMAGE, "Resizing", 5, 12, interpolation=word)
    for size in ((9, 7), (4, 3), (3, 7), (8, 2), (12, 5), (5, 12), (20, 11)):
        tag = f"{size[0]}_{size[1]}"
        layer(f"center_crop_{tag}", IMAGE, "CenterCrop", *size)
        layer(f"resizing_cropped_{tag}", IMAGE, "Resizing", *size, crop_to_aspect_ratio=True)
        layer(f"resizing_padded_{tag}", IMAGE, "Resizing", *size, pad_to_aspect_ratio=True, fill_value=3)
        network(f"image_cropped_{tag}", IMAGE, lambda x, size=size: ops.image.resize(x, size, "nearest", crop_to_aspect_ratio=True))
    layer("up1d", FREE_SERIES, "UpSampling1D", 3)
    layer("up3d", VOLUME, "UpSampling3D", (2, 1, 3))
    layer("pad1d", FREE_SERIES, "ZeroPadding1D", (2, 1))
    layer("pad3d", VOLUME, "ZeroPadding3D", ((1, 0), (0, 2), (1, 1)))
    layer("crop1d", SERIES, "Cropping1D", (2, 1))
    layer("crop3d", VOLUME, "Cropping3D", ((1, 0), (0, 2), (1, 1)))
    layer("adaptive_average", IMAGE, "AdaptiveAveragePooling2D", (4, 3))
    layer("adaptive_max", IMAGE, "AdaptiveMaxPooling2D", (4, 3))
    layer("global_max1d", FREE_SERIES, "GlobalMaxPooling1D")
    layer("global_average3d", VOLUME, "GlobalAveragePooling3D", keepdims=True)

    conv = lambda: L.Conv2D(4, 2)  # noqa: E731  the layer in front that brings channels first
    chain("flatten_dense", IMAGE, conv, L.Flatten, L.BatchNormalization, lambda: L.Dense(5))
    chain("flatten_out", IMAGE, conv, L.Flatten)
    chain("reshape_rows", IMAGE, conv, lambda: L.Reshape((6, -1)), lambda: L.Conv1D(3, 2))
    chain("reshape_series", IMAGE, conv, lambda: L.Reshape((48, 4)), lambda: L.Dense(3))
    chain("reshape_image", VECTOR, lambda: L.Dense(24), lambda: L.Reshape((2, 3, 4)), lambda: L.Conv2D(3, 2))
    chain("permute", IMAGE, conv, lambda: L.Permute((3, 1, 2)), lambda: L.Conv2D(3, 2))
    chain("repeat_vector", VECTOR, lambda: L.RepeatVector(4), lambda: L.LSTM(3))
    layer("dense_series", FREE_SERIES, "Dense", 4, activation="gelu")
    chain("dense_image", FREE_IMAGE, lambda: L.Dense(4, activation="relu"), lambda: L.Conv2D(3, 2))
    layer("einsum_dense", SERIES, "EinsumDense", "abc,cde->abde", output_shape=(None, 3, 2), bias_axes="de")
    chain("time_distributed", (4, 9, 7, 6), lambda: L.TimeDistributed(L.Conv2D(3, 3, strides=2, padding="same")),
          lambda: L.TimeDistributed(L.Flatten()), lambda: L.LSTM(3))

    for cell, sequence, backwards in product(("LSTM", "GRU", "SimpleRNN"), (False, True), (False, True)):
        layer(f"{cell}_{sequence}_{backwards}", (7, 5), cell, 4, return_sequences=sequence, go_backwards=backwards)
    for cell, merge in product(("LSTM", "GRU", "SimpleRNN"), ("concat", "sum", "mul", "ave")):
        chain(f"both_ways_{cell}_{merge}", (None, 5),
              lambda cell=cell, merge=merge: L.Bidirectional(getattr(L, cell)(4, return_sequences=True), merge_mode=merge))
    layer("gru_reset_before", (7, 5), "GRU", 4, reset_after=False)
    layer("lstm_other_functions", (7, 5), "LSTM", 4, activation="relu", recurrent_activation="hard_sigmoid")
    layer("lstm_no_bias", (7, 5), "LSTM", 4, use_bias=False)

    for merge in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"):
        network(f"merge_{merge}", IMAGE, lambda x, merge=merge: getattr(L, merge)()([L.Conv2D(4, 1)(x), L.Conv2D(4, 1)(x)]))
    for axis in (1, 2, 3, -2):
        network(f"concatenate_{axis}", IMAGE, lambda x, axis=axis: L.Concatenate(axis=axis)([L.Conv2D(6, 1)(x), L.ReLU()(x)]))
    network("dot", (6, 5), lambda x: L.Dot(axes=(2, 2), normalize=True)([x, L.Dense(5)(x)]))

    def squeeze_excite(x):
        y = L.Conv2D(8, 3, padding="same")(x)
        z = L.Reshape((1, 1, 8))(L.GlobalAveragePooling2D()(y))
        return L.Multiply()([y, L.Dense(8, activation="sigmoid")(L.Dense(4, activation="relu")(z))])

    network("squeeze_excite", FREE_IMAGE, squeeze_excite)

    functions = {
        "mean": lambda x: ops.mean(x, axis=(1, 2)), "max": lambda x: ops.max(x, axis=3, keepdims=True),
        "slice": lambda x: x[:, 1:-1, ::2, :], "index": lambda x: x[:, 0], "transpose": lambda x: ops.transpose(x, (0, 3, 1, 2)),
        "reshape": lambda x: ops.reshape(x, (-1, 9, 42)), "stack": lambda x: ops.stack([x, x + 1], axis=1),
        "split": lambda x: ops.split(x, 3, axis=-1)[1], "pad": lambda x: ops.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]]),
        "matmul": lambda x: ops.matmul(x, ops.transpose(x, (0, 1, 3, 2))), "normalize": lambda x: ops.normalize(x, axis=-1),
        "depth_to_space": lambda x: ops.depth_to_space(ops.concatenate([x, x], -1), 2),
        "average_pool": lambda x: ops.average_pool(x, 2, padding="same"), "max_pool": lambda x: ops.max_pool(x, 2),
        "flip": lambda x: ops.flip(x, axis=(1, 3)), "repeat": lambda x: ops.repeat(x, 2, axis=1),
        "tile": lambda x: ops.tile(x, (1, 2, 1, 3)), "swapaxes": lambda x: ops.swapaxes(x, 1, 3),
        "moveaxis": lambda x: ops.moveaxis(x, (-1, 1), (1, 2)), "einsum": lambda x: ops.einsum("bhwc,bhwd->bcd", x, x),
        "arithmetic": lambda x: (2.0 - x) / 3.0 + ops.abs(x) ** 2.0, "resize": lambda x: ops.image.resize(x, (4, 5)),
    }
    for name, function in functions.items():
        network(f"ops_{name}", IMAGE, lambda x, function=function: function(L.Conv2D(6, 1)(x)))
    return found
