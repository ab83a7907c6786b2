"""Pasted Keras programs. Name: (shapes of the inputs without their batch, text); `model` is the model; inputs named ids... are
whole numbers."""

SNIPPETS = {
    "unet": ({"image": (16, 24, 3)}, """
import tensorflow as tf
from tensorflow.keras.layers import *
from tensorflow.keras.models import Model

def conv_block(inputs, num_filters):
    x = Conv2D(num_filters, 3, padding="same")(inputs)
    x = BatchNormalization()(x)
    x = Activation("relu")(x)
    x = Conv2D(num_filters, 3, padding="same")(x)
    x = BatchNormalization()(x)
    return Activation("relu")(x)

def encoder_block(inputs, num_filters):
    x = conv_block(inputs, num_filters)
    p = MaxPool2D((2, 2))(x)
    return x, p

def decoder_block(inputs, skip, num_filters):
    x = Conv2DTranspose(num_filters, (2, 2), strides=2, padding="same")(inputs)
    x = Concatenate()([x, skip])
    return conv_block(x, num_filters)

def build_unet(input_shape):
    inputs = Input(input_shape, name="image")
    s1, p1 = encoder_block(inputs, 4)
    s2, p2 = encoder_block(p1, 6)
    b1 = conv_block(p2, 8)
    d1 = decoder_block(b1, s2, 6)
    d2 = decoder_block(d1, s1, 4)
    outputs = Conv2D(1, 1, padding="same", activation="sigmoid")(d2)
    return Model(inputs, outputs, name="U-Net")

if __name__ == "__main__":
    pass
model = build_unet((16, 24, 3))
model.summary()
"""),
    "densenet_loops": ({"input_1": (17, 13, 3)}, """
from keras.layers import Input, Conv2D, BatchNormalization, Activation, AveragePooling2D, GlobalAveragePooling2D, Dense, concatenate
from keras.models import Model

def conv_layer(x, growth):
    y = BatchNormalization(epsilon=1.1e-5)(x)
    y = Activation('relu')(y)
    y = Conv2D(4 * growth, (1, 1), use_bias=False, kernel_initializer='he_normal')(y)
    y = BatchNormalization(epsilon=1.1e-5)(y)
    y = Activation('relu')(y)
    return Conv2D(growth, (3, 3), padding='same', use_bias=False)(y)

def dense_block(x, layers, growth):
    features = [x]
    for i in range(layers):
        features.append(conv_layer(x, growth))
        x = concatenate(features, axis=-1)
    return x

img = Input(shape=(17, 13, 3), name='input_1')
x = Conv2D(6, (3, 3), strides=(2, 2), padding='same')(img)
nb_filter = 6
for block, n in enumerate([2, 3]):
    x = dense_block(x, n, 3)
    nb_filter += n * 3
    if block != 1:
        nb_filter = int(nb_filter * 0.5)
        x = Conv2D(nb_filter, (1, 1))(x)
        x = AveragePooling2D((2, 2), strides=(2, 2))(x)
x = Dense(4, activation='softmax')(GlobalAveragePooling2D()(x))
model = Model(inputs=img, outputs=x)
"""),
    "vae_decoder": ({"z": (5,)}, """
import keras
from keras import layers, ops

class Sampling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        z_mean, z_log_var = inputs
        batch = ops.shape(z_mean)[0]
        dim = ops.shape(z_mean)[1]
        epsilon = keras.random.normal(shape=(batch, dim), seed=self.seed_generator)
        return z_mean + ops.exp(0.5 * z_log_var) * epsilon

latent_dim = 5
latent_inputs = keras.Input(shape=(latent_dim,), name="z")
x = layers.Dense(4 * 3 * 6, activation="relu")(latent_inputs)
x = layers.Reshape((4, 3, 6))(x)
x = layers.Conv2DTranspose(6, 3, activation="relu", strides=2, padding="same")(x)
model = decoder = keras.Model(latent_inputs, layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(x), name="decoder")

class VAE(keras.Model):
    def __init__(self, decoder, **kwargs):
        super().__init__(**kwargs)
        self.decoder = decoder
        self.total_loss_tracker = keras.metrics.Mean(name="total_loss")

    @property
    def metrics(self):
        return [self.total_loss_tracker]
"""),
    "siamese": ({"left": (14, 12, 1), "right": (14, 12, 1)}, """
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Input, Lambda, Dense, Conv2D, MaxPooling2D, Flatten
from tensorflow.keras.models import Sequential, Model

left_input = Input((14, 12, 1), name='left')
right_input = Input((14, 12, 1), name='right')
convnet = Sequential()
convnet.add(Conv2D(4, (5, 3), activation='relu', input_shape=(14, 12, 1)))
convnet.add(MaxPooling2D())
convnet.add(Flatten())
convnet.add(Dense(6, activation="sigmoid"))
encoded_l = convnet(left_input)
encoded_r = convnet(right_input)
L1_layer = Lambda(lambda tensors: K.abs(tensors[0] - tensors[1]))
L1_distance = L1_layer([encoded_l, encoded_r])
prediction = Dense(1, activation='sigmoid')(L1_distance)
model = Model(inputs=[left_input, right_input], outputs=prediction)
"""),
    "residual_layer": ({"x": (12, 10, 3)}, """
import tensorflow as tf
from tensorflow.keras import layers

class ResidualBlock(layers.Layer):
    def __init__(self, filters, stride=1, **kwargs):
        super(ResidualBlock, self).__init__(**kwargs)
        self.filters = filters
        self.stride = stride
        self.conv1 = layers.Conv2D(filters, 3, strides=stride, padding='same')
        self.bn1 = layers.BatchNormalization()
        self.relu = layers.ReLU()
        self.conv2 = layers.Conv2D(filters, 3, padding='same')
        self.bn2 = layers.BatchNormalization()

    def build(self, input_shape):
        if input_shape[-1] != self.filters or self.stride != 1:
            self.shortcut = tf.keras.Sequential([layers.Conv2D(self.filters, 1, strides=self.stride), layers.BatchNormalization()])
        else:
            self.shortcut = lambda x: x
        super().build(input_shape)

    def call(self, inputs, training=None):
        x = self.relu(self.bn1(self.conv1(inputs), training=training))
        x = self.bn2(self.conv2(x), training=training)
        return tf.nn.relu(x + self.shortcut(inputs))

    def get_config(self):
        config = super().get_config()
        config.update({'filters': self.filters})
        return config

model = tf.keras.Sequential([
    layers.Input((12, 10, 3), name='x'),
    layers.Conv2D(4, 7, strides=2, padding='same'),
    ResidualBlock(4),
    ResidualBlock(6, stride=2),
    layers.GlobalAveragePooling2D(),
    layers.Dense(3),
])
"""),
    "multi_output": ({"face": (20, 18, 3)}, """
import keras
from keras.layers import *

class Faces:
    def make_default_hidden_layers(self, inputs):
        x = Conv2D(4, (3, 3), padding="same")(inputs)
        x = Activation("relu")(x)
        x = BatchNormalization(axis=-1)(x)
        x = MaxPooling2D(pool_size=(3, 3))(x)
        return Dropout(0.25)(x)

    def branch(self, inputs, n, name, activation=None):
        x = Flatten()(self.make_default_hidden_layers(inputs))
        x = Dense(n)(x)
        return Activation(activation or "linear", name=name)(x)

    def assemble(self, width, height):
        inputs = Input(shape=(height, width, 3), name="face")
        return keras.Model(inputs=inputs, outputs=[self.branch(inputs, 5, "race_output", "softmax"),
                                                   self.branch(inputs, 2, "gender_output", "softmax"),
                                                   self.branch(inputs, 1, "age_output")], name="face_net")

model = Faces().assemble(18, 20)
model.compile(optimizer='adam', loss={'race_output': 'categorical_crossentropy'}, loss_weights={'age_output': 4.})
"""),
    "xception_flow": ({"x": (22, 19, 3)}, """
from tensorflow import keras
from tensorflow.keras import layers

def make_model(input_shape, num_classes):
    inputs = keras.Input(shape=input_shape, name="x")
    x = layers.Rescaling(1.0 / 255)(inputs)
    x = layers.Conv2D(4, 3, strides=2, padding="same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    previous_block_activation = x
    for size in [6, 8]:
        x = layers.Activation("relu")(x)
        x = layers.SeparableConv2D(size, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
        x = layers.SeparableConv2D(size, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        residual = layers.Conv2D(size, 1, strides=2, padding="same")(previous_block_activation)
        x = layers.add([x, residual])
        previous_block_activation = x
    x = layers.GlobalAveragePooling2D()(x)
    if num_classes == 2:
        units = 1
    else:
        units = num_classes
    x = layers.Dropout(0.25)(x)
    return keras.Model(inputs, layers.Dense(units, activation=None)(x))

model = make_model(input_shape=(22, 19, 3), num_classes=2)
keras.utils.plot_model(model, show_shapes=True)
"""),
    "squeeze_excite": ({"x": (9, 8, 6)}, """
from keras.layers import GlobalAveragePooling2D, Reshape, Dense, Multiply, Input, Conv2D, multiply, Permute
from keras.models import Model
import keras.backend as K

def squeeze_excite_block(tensor, ratio=2):
    init = tensor
    filters = init.shape[-1]
    se_shape = (1, 1, filters)
    se = GlobalAveragePooling2D()(init)
    se = Reshape(se_shape)(se)
    se = Dense(filters // ratio, activation='relu', kernel_initializer='he_normal', use_bias=False)(se)
    se = Dense(filters, activation='sigmoid', kernel_initializer='he_normal', use_bias=False)(se)
    return multiply([init, se])

inp = Input((9, 8, 6), name='x')
x = Conv2D(8, 3, padding='same', activation='relu')(inp)
x = squeeze_excite_block(x)
x = squeeze_excite_block(Conv2D(4, (1, 3))(x), ratio=4)
model = Model(inp, x)
"""),
    "wavenet": ({"signal": (40, 2)}, """
import tensorflow as tf
from tensorflow.keras.layers import Input, Conv1D, Multiply, Add, Activation, Dense, Flatten, Dropout

def wavenet_layer(x, dilation, filters=4, kernel=2):
    tanh_out = Conv1D(filters, kernel, dilation_rate=dilation, padding='causal', activation='tanh', name=f'tanh_{dilation}')(x)
    sigm_out = Conv1D(filters, kernel, dilation_rate=dilation, padding='causal', activation='sigmoid', name='sigmoid_%d' % dilation)(x)
    z = Multiply(name='gated_{}'.format(dilation))([tanh_out, sigm_out])
    skip = Conv1D(filters, 1)(z)
    res = Add()([skip, x])
    return res, skip

inputs = Input(shape=(40, 2), name='signal')
x = Conv1D(4, 1, padding='causal')(inputs)
skips = []
for i in range(4):
    x, s = wavenet_layer(x, 2 ** i)
    skips.append(s)
out = Activation('relu')(Add()(skips))
out = Conv1D(3, 1, activation='relu')(out)
model = tf.keras.models.Model(inputs, Conv1D(5, 1, activation='softmax')(out))
"""),
    "lambda_arithmetic": ({"x": (8, 6, 3)}, """
from keras.models import Sequential
from keras.layers import Lambda, Cropping2D, Conv2D, Flatten, Dense, ELU, Activation
import keras.backend as K
model = Sequential()
model.add(Lambda(lambda x: (x / 127.5) - 1., input_shape=(8, 6, 3)))
model.add(Cropping2D(cropping=((2, 1), (0, 1))))
model.add(Conv2D(4, (3, 2), strides=(2, 1)))
model.add(Lambda(lambda x, alpha: x * alpha + 0.25, arguments={'alpha': 1.5}))
model.add(ELU())
model.add(Flatten())
model.add(Lambda(lambda x: K.expand_dims(x, axis=1)))
model.add(Lambda(lambda x: K.squeeze(x, 1)))
model.add(Dense(2))
"""),
    "linear_guide": ({"x": (7,)}, """
import keras

class Linear(keras.layers.Layer):
    def __init__(self, units=32):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="random_normal", trainable=True)
        self.b = self.add_weight(shape=(self.units,), initializer="random_normal", trainable=True)

    def call(self, inputs):
        return keras.ops.matmul(inputs, self.w) + self.b

class ComputeSum(keras.layers.Layer):
    def __init__(self, input_dim):
        super().__init__()
        self.total = self.add_weight(initializer="zeros", shape=(input_dim,), trainable=False)
        self.scale = self.add_weight(shape=(input_dim,), initializer=keras.initializers.Constant(0.5), name="scale")

    def call(self, inputs):
        return (inputs - self.total) * self.scale

class MLPBlock(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.linear_1 = Linear(6)
        self.sums = ComputeSum(6)
        self._hidden = Linear(5)
        self.linear_3 = Linear(1)

    def call(self, inputs):
        x = keras.activations.relu(self.linear_1(inputs))
        x = self.sums(x)
        x = keras.activations.relu(self._hidden(x))
        return self.linear_3(x)

model = keras.Sequential([keras.layers.Input((7,), name='x'), keras.layers.Dense(4, activation="tanh"), MLPBlock(), Linear(3)])
"""),
    "attention_of_keras_2": ({"ids": (11,)}, """
from tensorflow.keras.layers import Layer, Input, Embedding, LSTM, Bidirectional, Dense
from tensorflow.keras.models import Model
import tensorflow.keras.backend as K

class attention(Layer):
    def __init__(self, **kwargs):
        super(attention, self).__init__(**kwargs)

    def build(self, input_shape):
        self.W = self.add_weight(name="att_weight", shape=(input_shape[-1], 1), initializer="normal")
        self.b = self.add_weight(name="att_bias", shape=(input_shape[1], 1), initializer="zeros")
        super(attention, self).build(input_shape)

    def call(self, x):
        et = K.squeeze(K.tanh(K.dot(x, self.W) + self.b), axis=-1)
        at = K.softmax(et)
        at = K.expand_dims(at, axis=-1)
        output = x * at
        return K.sum(output, axis=1)

    def compute_output_shape(self, input_shape):
        return (input_shape[0], input_shape[-1])

inputs = Input((11,), name='ids')
x = Embedding(input_dim=10, output_dim=6, input_length=11, embeddings_regularizer='l2')(inputs)
att_in = Bidirectional(LSTM(4, return_sequences=True, dropout=0.3, recurrent_dropout=0.2))(x)
att_out = attention()(att_in)
model = Model(inputs, Dense(1, activation='sigmoid')(att_out))
""".replace(" input_length=11,", "")),
    "subclassed_resnet": ({"inputs": (12, 11, 3)}, """
import tensorflow as tf

class ResnetIdentityBlock(tf.keras.Model):
    def __init__(self, kernel_size, filters):
        super(ResnetIdentityBlock, self).__init__(name='')
        filters1, filters2, filters3 = filters
        self.conv2a = tf.keras.layers.Conv2D(filters1, (1, 1))
        self.bn2a = tf.keras.layers.BatchNormalization()
        self.conv2b = tf.keras.layers.Conv2D(filters2, kernel_size, padding='same')
        self.bn2b = tf.keras.layers.BatchNormalization()
        self.tail = [tf.keras.layers.Conv2D(filters3, (1, 1)), tf.keras.layers.BatchNormalization()]

    def call(self, input_tensor, training=False):
        x = self.conv2a(input_tensor)
        x = self.bn2a(x, training=training)
        x = tf.nn.relu(x)
        x = self.conv2b(x)
        x = self.bn2b(x, training=training)
        x = tf.nn.relu(x)
        for layer in self.tail:
            x = layer(x)
        x += input_tensor
        return tf.nn.relu(x)

class Net(tf.keras.Model):
    def __init__(self, num_classes=4):
        super().__init__()
        self.stem = tf.keras.layers.Conv2D(3, 3, padding='same')
        self.blocks = [ResnetIdentityBlock(3, [2, 4, 3]) for _ in range(2)]
        self.heads = {'a': tf.keras.layers.Dense(num_classes), 'b': tf.keras.layers.Dense(2)}
        self.pool = tf.keras.layers.GlobalAveragePooling2D()
        self.out = tf.keras.layers.Dense(3)

    def call(self, inputs, training=None, mask=None):
        x = self.stem(inputs)
        for block in self.blocks:
            x = block(x, training=training)
        x = self.pool(x)
        return {'a': self.heads['a'](x), 'b': self.heads['b'](x), 'c': self.out(x)}

model = Net()
""".replace("name=''", "name='block'")),
    "scale_layer": ({"x": (7, 6, 5)}, """
from keras.layers import Layer, Input, Conv2D, InputSpec, BatchNormalization
from keras import initializers, Model
import keras.backend as K

class Scale(Layer):
    '''Learns a set of weights and biases used for scaling the input data.'''
    def __init__(self, weights=None, axis=-1, momentum=0.9, beta_init='zero', gamma_init='one', **kwargs):
        self.momentum = momentum
        self.axis = axis
        self.beta_init = initializers.get('zeros')
        self.gamma_init = initializers.get('ones')
        self.initial_weights = weights
        super(Scale, self).__init__(**kwargs)

    def build(self, input_shape):
        self.input_spec = [InputSpec(shape=input_shape)]
        shape = (int(input_shape[self.axis]),)
        self.gamma = self.add_variable(name='{}_gamma'.format(self.name), shape=shape, initializer=self.gamma_init)
        self.beta = self.add_variable(name=self.name + '_beta', shape=shape, initializer=self.beta_init)
        self.built = True

    def call(self, x, mask=None):
        input_shape = K.int_shape(x)
        broadcast_shape = [1] * len(input_shape)
        broadcast_shape[self.axis] = input_shape[self.axis]
        out = keras.ops.reshape(self.gamma, broadcast_shape) * x + keras.ops.reshape(self.beta, broadcast_shape)
        return out

inp = Input((7, 6, 5), name='x')
x = BatchNormalization(axis=-1, name='conv1_bn')(Conv2D(4, (3, 2), use_bias=False)(inp))
x = Scale(axis=-1, name='conv1_scale')(x)
x = Scale(axis=-1, name='conv2_scale')(x)
model = Model(inp, x)
"""),
    "inception": ({"x": (15, 17, 3)}, """
from tensorflow.keras.layers import Conv2D, MaxPooling2D, AveragePooling2D, concatenate, Input, Flatten, Dense, Dropout, ZeroPadding2D
from tensorflow.keras.models import Model

def inception_module(x, filters_1x1, filters_3x3_reduce, filters_3x3, filters_5x5_reduce, filters_5x5, filters_pool_proj, name=None):
    conv_1x1 = Conv2D(filters_1x1, (1, 1), padding='same', activation='relu')(x)
    conv_3x3 = Conv2D(filters_3x3_reduce, (1, 1), padding='same', activation='relu')(x)
    conv_3x3 = Conv2D(filters_3x3, (3, 3), padding='same', activation='relu')(conv_3x3)
    conv_5x5 = Conv2D(filters_5x5_reduce, (1, 1), padding='same', activation='relu')(x)
    conv_5x5 = Conv2D(filters_5x5, (5, 5), padding='same', activation='relu')(conv_5x5)
    pool_proj = MaxPooling2D((3, 3), strides=(1, 1), padding='same')(x)
    pool_proj = Conv2D(filters_pool_proj, (1, 1), padding='same', activation='relu')(pool_proj)
    return concatenate([conv_1x1, conv_3x3, conv_5x5, pool_proj], axis=3, name=name)

input_layer = Input(shape=(15, 17, 3), name='x')
x = ZeroPadding2D(((1, 2), (0, 3)))(input_layer)
x = Conv2D(4, (7, 5), padding='valid', strides=(2, 2), activation='relu', name='conv_1')(x)
x = MaxPooling2D((3, 3), padding='same', strides=(2, 2))(x)
x = inception_module(x, 2, 3, 4, 1, 2, 3, name='inception_3a')
x1 = AveragePooling2D((2, 3), strides=1)(x)
x1 = Dense(3, activation='softmax', name='auxilliary_output_1')(Flatten()(x1))
x = inception_module(x, 1, 2, 3, 2, 1, 2)
model = Model(input_layer, [Dense(3)(Dropout(0.4)(Flatten()(x))), x1], name='inception_v1')
"""),
    "augmented": ({"x": (10, 9, 3)}, """
import tensorflow as tf
from tensorflow.keras import layers
data_augmentation = tf.keras.Sequential([
    layers.RandomFlip("horizontal", input_shape=(10, 9, 3)),
    layers.RandomRotation(0.1),
    layers.RandomZoom(0.1),
    layers.RandomContrast(0.2),
])
model = tf.keras.Sequential([
    layers.Input((10, 9, 3), name='x'),
    data_augmentation,
    layers.Rescaling(1./255),
    layers.Conv2D(4, 3, padding='same', activation='relu'),
    layers.MaxPooling2D(),
    layers.GaussianNoise(0.1),
    layers.Flatten(),
    layers.Dense(5, name="outputs"),
])
""".replace(", input_shape=(10, 9, 3)", "")),
    "cbam": ({"x": (8, 7, 6)}, """
from tensorflow.keras.layers import *
from tensorflow.keras.models import Model
from tensorflow.keras import backend as K
import tensorflow as tf

def channel_attention(input_feature, ratio=2):
    channel = input_feature.shape[-1]
    shared_layer_one = Dense(channel // ratio, activation='relu', kernel_initializer='he_normal', use_bias=True, bias_initializer='zeros')
    shared_layer_two = Dense(channel)
    avg_pool = GlobalAveragePooling2D()(input_feature)
    avg_pool = Reshape((1, 1, channel))(avg_pool)
    assert avg_pool.shape[1:] == (1, 1, channel)
    avg_pool = shared_layer_two(shared_layer_one(avg_pool))
    max_pool = GlobalMaxPooling2D()(input_feature)
    max_pool = Reshape((1, 1, channel))(max_pool)
    max_pool = shared_layer_two(shared_layer_one(max_pool))
    cbam_feature = Activation('sigmoid')(Add()([avg_pool, max_pool]))
    return multiply([input_feature, cbam_feature])

def spatial_attention(input_feature):
    kernel_size = 7
    avg_pool = Lambda(lambda x: K.mean(x, axis=3, keepdims=True))(input_feature)
    max_pool = Lambda(lambda x: K.max(x, axis=3, keepdims=True))(input_feature)
    concat = Concatenate(axis=3)([avg_pool, max_pool])
    cbam_feature = Conv2D(filters=1, kernel_size=kernel_size, strides=1, padding='same', activation='sigmoid', use_bias=False)(concat)
    return multiply([input_feature, cbam_feature])

inputs = Input((8, 7, 6), name='x')
model = Model(inputs, spatial_attention(channel_attention(inputs)))
"""),
    "inverted_residual": ({"x": (13, 11, 3)}, """
from keras.layers import *
from keras.models import Model
from keras import backend as K

def _make_divisible(v, divisor, min_value=None):
    if min_value is None:
        min_value = divisor
    new_v = max(min_value, int(v + divisor / 2) // divisor * divisor)
    if new_v < 0.9 * v:
        new_v += divisor
    return new_v

def _bottleneck(x, filters, kernel, t, alpha, s, r=False):
    channel_axis = 1 if K.image_data_format() == 'channels_first' else -1
    tchannel = K.int_shape(x)[channel_axis] * t
    cchannel = int(filters * alpha)
    inputs = x
    x = ReLU(6.)(BatchNormalization(axis=channel_axis)(Conv2D(tchannel, (1, 1), padding='same')(x)))
    x = DepthwiseConv2D(kernel, strides=(s, s), depth_multiplier=1, padding='same')(x)
    x = BatchNormalization(axis=channel_axis)(x)
    x = ReLU(max_value=6.)(x)
    x = Conv2D(cchannel, (1, 1), strides=(1, 1), padding='same')(x)
    x = BatchNormalization(axis=channel_axis)(x)
    if r:
        x = Add()([x, inputs])
    return x

inputs = Input(shape=(13, 11, 3), name='x')
x = Conv2D(_make_divisible(5, 2), 3, strides=(2, 2), padding='same')(inputs)
x = _bottleneck(x, 4, (3, 3), 2, 1.0, 2)
for i in range(1, 3):
    x = _bottleneck(x, 4, (3, 3), 3, 1.0, 1, True)
model = Model(inputs, x)
"""),
    "pixel_shuffle": ({"x": (6, 5, 2)}, """
import tensorflow as tf
import keras
from keras import layers

def get_model(upscale_factor=3, channels=2):
    conv_args = {"activation": "relu", "kernel_initializer": "orthogonal", "padding": "same"}
    inputs = keras.Input(shape=(6, 5, channels), name="x")
    x = layers.Conv2D(6, 5, **conv_args)(inputs)
    x = layers.Conv2D(channels * (upscale_factor ** 2), 3, **conv_args)(x)
    outputs = DepthToSpace(upscale_factor)(x)
    return keras.Model(inputs, outputs)

class DepthToSpace(layers.Layer):
    def __init__(self, block_size):
        super().__init__()
        self.block_size = block_size

    def call(self, input):
        batch, height, width, depth = keras.ops.shape(input)
        depth = depth // (self.block_size ** 2)
        x = keras.ops.reshape(input, [batch, height, width, self.block_size, self.block_size, depth])
        x = keras.ops.transpose(x, [0, 1, 3, 2, 4, 5])
        x = keras.ops.reshape(x, [batch, height * self.block_size, width * self.block_size, depth])
        return x

model = get_model()
"""),
    "convolution_of_keras_1": ({"x": (12, 10, 1)}, """
from keras.models import Sequential
from keras.layers.core import Dense, Dropout, Activation, Flatten
from keras.layers.convolutional import Convolution2D, MaxPooling2D, ZeroPadding2D
model = Sequential()
model.add(ZeroPadding2D((1, 1), input_shape=(12, 10, 1)))
model.add(Convolution2D(4, 3, 3, activation='relu'))
model.add(ZeroPadding2D((1, 1)))
model.add(Convolution2D(4, 3, 3, activation='relu'))
model.add(MaxPooling2D((2, 2), strides=(2, 2)))
model.add(Flatten())
model.add(Dense(6, activation='relu'))
model.add(Dropout(0.5))
model.add(Dense(3, activation='softmax'))
if False:
    model.load_weights('vgg16_weights.h5')
"""),
    "local_attention": ({"x": (6, 5), "y": (4, 5)}, """
import keras
from keras import layers
import keras.backend as K
from keras.layers import Input, Lambda, Dense, Softmax

class Projection(keras.layers.Layer):
    def __init__(self, dim, **kwargs):
        super().__init__(**kwargs)
        self.dim = dim

    def build(self, input_shape):
        self.kernel = self.add_weight("kernel", (input_shape[-1], self.dim), initializer="uniform") if False else \\
            self.add_weight(name="kernel", shape=(input_shape[-1], self.dim), initializer="uniform")

    def call(self, inputs):
        return K.dot(inputs, self.kernel)

a = Input((6, 5), name='x')
b = Input((4, 5), name='y')
project = Projection(3)
x, y = project(a), project(b)
scores = Lambda(lambda t: keras.ops.matmul(t[0], keras.ops.transpose(t[1], (0, 2, 1))))([x, y])
weights = Softmax(axis=-1)(scores)
model = keras.Model([a, b], layers.Dot(axes=(2, 1))([weights, y]))
"""),
}

REFUSED = {
    "random": ("random", """
import keras
from keras import layers, ops
class Sampling(layers.Layer):
    def call(self, inputs):
        return inputs + keras.random.normal(shape=ops.shape(inputs))
x = layers.Input((8, 6, 3))
model = keras.Model(x, Sampling()(x))
"""),
    "half": ("float16", """
import keras
class Half(keras.layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(3,), dtype="float16")
    def call(self, x):
        return x * self.w
x = keras.layers.Input((8, 6, 3))
model = keras.Model(x, Half()(x))
"""),
}
